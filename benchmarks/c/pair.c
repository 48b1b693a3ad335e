/* The limit for the two-action kernel: the same pass as src/howlearn/engine/kernels/pair.py.
 *
 * Same state (the pair of probabilities), same exponential, same order (trials outside, the cells
 * of the trial's context inside), same moving of exponents, logs taken at the marks only.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define RATES 64
#define SCORED 1
#define LEARNED 2
#define RESET 4
#define EXPORT __attribute__((visibility("default")))

typedef struct {
  double eta[RATES], p[2][RATES], product[RATES], exponent[RATES];
} Cell;

static inline int64_t bits_of(double x) {
  int64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static inline double float_of(int64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static inline double exponential(double x) {
  const double shift = 6755399441055744.0; /* 1.5 * 2^52: the sum holds the rounded integer */
  x = x > -708.0 ? x : -708.0;
  double t = x * 1.4426950408889634 + shift;
  double k = t - shift;
  double r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
  double y = 1 / 39916800.0;
  y = y * r + 1 / 3628800.0;
  y = y * r + 1 / 362880.0;
  y = y * r + 1 / 40320.0;
  y = y * r + 1 / 5040.0;
  y = y * r + 1 / 720.0;
  y = y * r + 1 / 120.0;
  y = y * r + 1 / 24.0;
  y = y * r + 1 / 6.0;
  y = y * r + 0.5;
  y = y * r + 1.0;
  y = y * r + 1.0;
  return y * float_of((int64_t)((uint64_t)(bits_of(t) + 1023) << 52));
}

static void forget(Cell *cells, int64_t n_rows) {
  for (int64_t row = 0; row < n_rows; row++)
    for (int i = 0; i < RATES; i++) cells[row].p[0][i] = cells[row].p[1][i] = 0.5;
}

static inline void visit(Cell *cell, int action, double gain, int flags) {
  double *restrict chosen = cell->p[action], *restrict other = cell->p[1 - action];
  double *restrict product = cell->product, *restrict eta = cell->eta;
  if (flags & SCORED)
    for (int i = 0; i < RATES; i++) product[i] *= chosen[i];
  if ((flags & LEARNED) && gain != 0.0)
    for (int i = 0; i < RATES; i++) {
      double p = chosen[i], q = other[i];
      q = q * exponential(-2.0 * eta[i] * gain * q);
      double s = 1.0 / (p + q);
      chosen[i] = p * s;
      other[i] = q * s;
    }
}

static inline void move_exponents(Cell *cell) {
  for (int i = 0; i < RATES; i++) {
    int64_t bits = bits_of(cell->product[i]), power = (bits >> 52) - 1023;
    cell->exponent[i] += (double)power;
    cell->product[i] = float_of(bits - (int64_t)((uint64_t)power << 52));
  }
}

static void record(const Cell *cells, int64_t n_rows, double *out) {
  for (int64_t row = 0; row < n_rows; row++)
    for (int i = 0; i < RATES; i++)
      out[row * RATES + i] =
          log(cells[row].product[i]) + cells[row].exponent[i] * 0.6931471805599453;
}

/* Log-likelihoods out[learner, mark, cell, rate]; context c is in the cells
 * rows[starts[c]] ... rows[starts[c + 1] - 1]. The marks of a learner are in order. */
EXPORT int grid(int64_t n_learners, const int64_t *offsets, const int32_t *context,
                const int16_t *action, const double *feedback, const uint8_t *flags,
                int64_t n_marks, const int64_t *marks, const int64_t *starts, const int64_t *rows,
                int64_t n_rows, const double *rates, int64_t every, double *out) {
  Cell *cells = aligned_alloc(64, (size_t)n_rows * sizeof(Cell));
  int64_t *visits = malloc((size_t)n_rows * sizeof(int64_t));
  if (!cells || !visits) return 1;
  for (int64_t learner = 0; learner < n_learners; learner++, marks += n_marks) {
    forget(cells, n_rows);
    for (int64_t row = 0; row < n_rows; row++) {
      visits[row] = 0;
      for (int i = 0; i < RATES; i++) {
        cells[row].eta[i] = rates[i];
        cells[row].product[i] = 1.0;
        cells[row].exponent[i] = 0.0;
      }
    }
    int64_t first = offsets[learner], n = offsets[learner + 1] - first, mark = 0;
    for (int64_t t = 0; t <= n; t++) {
      for (; mark < n_marks && marks[mark] == t; mark++, out += n_rows * RATES)
        record(cells, n_rows, out);
      if (t == n) break;
      if (flags[first + t] & RESET) forget(cells, n_rows);
      int c = context[first + t];
      for (int64_t e = starts[c]; e < starts[c + 1]; e++) {
        int64_t row = rows[e];
        visit(&cells[row], action[first + t], feedback[first + t], flags[first + t]);
        if (++visits[row] == every) {
          move_exponents(&cells[row]);
          visits[row] = 0;
        }
      }
    }
  }
  free(cells);
  free(visits);
  return 0;
}
