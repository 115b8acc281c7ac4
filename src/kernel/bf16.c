/* bf16 with directed rounding, for the parameters of codecs. */
#include "src/kernel/backend.h"

#include <string.h>

enum { CUT = 0xffff };
static const uint32_t LARGEST = 0x7f7f0000;

/* Towards zero, or away from it. */
static float cut(float x, bool away)
{
    uint32_t u, mag;

    memcpy(&u, &x, sizeof u);
    mag = u & 0x7fffffff;
    mag = (mag + (away ? CUT : 0)) & ~(uint32_t)CUT;
    if (mag > LARGEST)
        mag = LARGEST;
    u = (u & 0x80000000) | mag;
    memcpy(&x, &u, sizeof x);
    return x;
}

float qh_bf16_down(float x)
{
    return cut(x, x < 0);
}

float qh_bf16_up(float x)
{
    return cut(x, x > 0);
}
