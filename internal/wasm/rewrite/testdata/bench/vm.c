// A small stack machine: what an interpreter does, a br_table for each step.
enum { PUSH, ADD, SUB, MUL, DUP, SWAP, JNZ, LOAD, STORE, HALT };
static const unsigned char code[] = {
    LOAD, 0, LOAD, 1, MUL, PUSH, 7, ADD, STORE, 1, // b = a * b + 7
    LOAD, 1, LOAD, 2, ADD, DUP, STORE, 2, STORE, 3,
    LOAD, 0, PUSH, 1, SUB, DUP, STORE, 0, JNZ, 0, HALT,
};
static unsigned vars[8], stack[64];

__attribute__((export_name("run"))) unsigned run(unsigned rounds) {
  unsigned *sp = stack;
  const unsigned char *pc = code;
  vars[0] = rounds;
  vars[1] = 3;
  vars[2] = 0;
  for (;;) switch (*pc++) {
      case PUSH: *sp++ = *pc++; break;
      case ADD: sp--; sp[-1] += *sp; break;
      case SUB: sp--; sp[-1] -= *sp; break;
      case MUL: sp--; sp[-1] *= *sp; break;
      case DUP: *sp = sp[-1]; sp++; break;
      case SWAP: { unsigned t = sp[-1]; sp[-1] = sp[-2]; sp[-2] = t; break; }
      case JNZ: if (*--sp) pc = code + *pc; else pc++; break;
      case LOAD: *sp++ = vars[*pc++]; break;
      case STORE: vars[*pc++] = *--sp; break;
      case HALT: return vars[2];
    }
}
