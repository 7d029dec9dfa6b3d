// A small register machine that sieves primes: what an interpreter does, a
// br_table for each step.
enum { MOVI, MOV, ADD, ADDI, MUL, LOAD, STORE, JLT, JNZ, JMP, HALT };
enum { I, J, N, COUNT, T, ROUNDS };
#define CELLS 8192
static int reg[8], cell[CELLS];

static const int code[][4] = {
    /* 0 */ {MOVI, COUNT, 0},
    /* 1 */ {MOVI, I, 0},
    /* 2 */ {MOVI, T, 1},
    /* 3 */ {STORE, T, I},       // clear the sieve
    /* 4 */ {ADDI, I, 1},
    /* 5 */ {JLT, I, N, 3},
    /* 6 */ {MOVI, I, 2},
    /* 7 */ {LOAD, T, I},        // for each i: still set?
    /* 8 */ {JNZ, T, 10},
    /* 9 */ {JMP, 17},
    /* 10 */ {ADDI, COUNT, 1},
    /* 11 */ {MOV, J, I},
    /* 12 */ {MUL, J, I},
    /* 13 */ {MOVI, T, 0},
    /* 14 */ {JLT, N, J, 17},
    /* 15 */ {STORE, T, J},      // strike its multiples
    /* 16 */ {ADD, J, I, 14},
    /* 17 */ {ADDI, I, 1},
    /* 18 */ {JLT, I, N, 7},
    /* 19 */ {ADDI, ROUNDS, -1},
    /* 20 */ {JNZ, ROUNDS, 0},
    /* 21 */ {HALT},
};

__attribute__((export_name("run"))) int run(int rounds) {
  const int(*pc)[4] = code;
  reg[N] = CELLS - 1;
  reg[ROUNDS] = rounds;
  for (;;) {
    const int *op = *pc++;
    switch (op[0]) {
      case MOVI: reg[op[1]] = op[2]; break;
      case MOV: reg[op[1]] = reg[op[2]]; break;
      case ADD:
        reg[op[1]] += reg[op[2]];
        pc = code + op[3];
        break;
      case ADDI: reg[op[1]] += op[2]; break;
      case MUL: reg[op[1]] *= reg[op[2]]; break;
      case LOAD: reg[op[1]] = cell[reg[op[2]]]; break;
      case STORE: cell[reg[op[2]]] = reg[op[1]]; break;
      case JLT: if (reg[op[1]] < reg[op[2]]) pc = code + op[3]; break;
      case JNZ: if (reg[op[1]]) pc = code + op[2]; break;
      case JMP: pc = code + op[1]; break;
      case HALT: return reg[COUNT];
    }
  }
}
