// Quicksort with a comparison behind a pointer, then binary searches: branches
// that can't be foreseen, recursion, and calls through a table.
#define N 20000
static unsigned a[N];

static int less(unsigned x, unsigned y) { return x < y; }
static int more(unsigned x, unsigned y) { return x > y; }
static int (*volatile order)(unsigned, unsigned);

static void sort(unsigned *v, int n) {
  while (n > 12) {
    unsigned pivot = v[n / 2];
    int i = 0, j = n - 1;
    for (;;) {
      while (v[i] < pivot) i++;
      while (pivot < v[j]) j--;
      if (i >= j) break;
      unsigned t = v[i];
      v[i++] = v[j];
      v[j--] = t;
    }
    sort(v, i);
    v += i;
    n -= i;
  }
  for (int i = 1; i < n; i++) {
    unsigned x = v[i];
    int j = i;
    for (; j > 0 && order(x, v[j - 1]); j--) v[j] = v[j - 1];
    v[j] = x;
  }
}

__attribute__((export_name("run"))) unsigned run(int rounds) {
  unsigned seed = 1, sum = 0;
  for (int r = 0; r < rounds; r++) {
    order = r < 0 ? more : less;
    for (int i = 0; i < N; i++) a[i] = seed = seed * 1664525u + 1013904223u;
    sort(a, N);
    for (int k = 0; k < N; k++) {
      unsigned want = seed = seed * 1664525u + 1013904223u;
      int low = 0, high = N;
      while (low < high) {
        int mid = (low + high) / 2;
        if (a[mid] < want) low = mid + 1; else high = mid;
      }
      sum += low;
    }
  }
  return sum;
}
