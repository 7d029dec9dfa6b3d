// Five bodies pulling at each other: chains of float arithmetic that end in memory.
#define N 5
struct body { double x, y, z, vx, vy, vz, mass; };
static struct body bodies[N] = {
    {0, 0, 0, 0, 0, 0, 39.47841760435743},
    {4.84143144246472090, -1.16032004402742839, -0.103622044471123109, 0.606326392995832, 2.81198684491626, -0.02521836165988763, 0.03769367487038949},
    {8.34336671824457987, 4.12479856412430479, -0.403523417114321381, -1.0107743461787924, 1.8256623712304119, 0.008415761376584154, 0.011286326131968767},
    {12.8943695621391310, -15.1111514016986312, -0.223307578892655734, 1.0827910064415354, 0.8687130181696082, -0.010832637401363636, 0.0017237240570597112},
    {15.3796971148509165, -25.9193146099879641, 0.179258772950371181, 0.979090732243898, 0.5946989986476762, -0.034755955550407037, 0.0020336868699246304},
};

static void advance(double dt) {
  for (int i = 0; i < N; i++) {
    struct body *p = &bodies[i];
    for (int j = i + 1; j < N; j++) {
      struct body *q = &bodies[j];
      double dx = p->x - q->x, dy = p->y - q->y, dz = p->z - q->z;
      double d2 = dx * dx + dy * dy + dz * dz;
      double mag = dt / (d2 * __builtin_sqrt(d2));
      p->vx -= dx * q->mass * mag;
      p->vy -= dy * q->mass * mag;
      p->vz -= dz * q->mass * mag;
      q->vx += dx * p->mass * mag;
      q->vy += dy * p->mass * mag;
      q->vz += dz * p->mass * mag;
    }
  }
  for (int i = 0; i < N; i++) {
    struct body *p = &bodies[i];
    p->x += dt * p->vx;
    p->y += dt * p->vy;
    p->z += dt * p->vz;
  }
}

__attribute__((export_name("run"))) double run(int steps) {
  for (int i = 0; i < steps; i++) advance(0.001);
  return bodies[0].x;
}
