typedef float tw_golden_f32x4 __attribute__((vector_size(16)));
typedef float tw_golden_f32x4u __attribute__((vector_size(16), aligned(4), may_alias));
typedef unsigned tw_golden_u32x4 __attribute__((vector_size(16)));
typedef unsigned tw_golden_u32x4u __attribute__((vector_size(16), aligned(4), may_alias));

static inline float tw_golden_max_f32(float a, float b)
{
    float r = a > b ? a : b;
    return a != a ? a : r;
}

static inline tw_golden_f32x4 tw_golden_exp_f32x4(tw_golden_f32x4 a)
{
    /* e^a = 2^n e^r, n = round(a / ln 2), |r| <= ln 2 / 2; the polynomial is a minimax fit.
       Beyond the ends the result is 0 or infinity. At most 1 ulp, 1.2 without fused multiply-adds.
       The low bits of t are n + 254; halves of it are exponents whose powers multiply to 2^n. */
    for (int i = 0; i < 4; i++)
        a[i] = 89.0f < a[i] ? 89.0f : a[i];
    for (int i = 0; i < 4; i++)
        a[i] = -104.0f > a[i] ? -104.0f : a[i];
    tw_golden_f32x4 t = a * 1.44269504f + 12583166.0f;
    tw_golden_f32x4 n = t - 12583166.0f;
    tw_golden_f32x4 r = a - n * 0.693359375f;
    r = r + n * 2.12194440e-4f;
    tw_golden_f32x4 p = r * 0.00138145395f + 0.00836874545f;
    p = p * r + 0.041668389f;
    p = p * r + 0.166665211f;
    p = p * r + 0.49999994f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    tw_golden_u32x4 half = (tw_golden_u32x4)t >> 1;
    return p * (tw_golden_f32x4)(half << 23) * (tw_golden_f32x4)(((tw_golden_u32x4)t - half) << 23);
}

static inline float tw_golden_exp_f32(float a)
{
    return tw_golden_exp_f32x4(a - (tw_golden_f32x4){})[0];
}

__SIZE_TYPE__ tw_golden_workspace_bytes(void)
{
    return 191;
}

int tw_golden(const float *b0, float *b1, void *workspace)
{
    if (!workspace)
        return 1;
    char *base = (char *)(((__UINTPTR_TYPE__)workspace + 63) & -(__UINTPTR_TYPE__)64);
    float *b2 = (float *)(base + 0);
    float *b3 = (float *)(base + 64);
    for (long l0 = 0; l0 < 6; l0++) {
        b2[l0] = -(float)__builtin_inff();
        b3[l0] = 0.0f;
        for (long l1 = 0; l1 < 50; l1++) {
            b2[l0] = tw_golden_max_f32(b2[l0], b0[l0 * 50 + l1]);
        }
        for (long l2 = 0; l2 < 50; l2++) {
            float *b1_at_1 = &b1[l0 * 50 + l2];
            b1_at_1[0] = tw_golden_exp_f32(b0[l0 * 50 + l2] - b2[l0]);
            b3[l0] += b1_at_1[0];
        }
        for (long l3 = 0; l3 < 50; l3++) {
            float *b1_at_2 = &b1[l0 * 50 + l3];
            b1_at_2[0] = b1_at_2[0] / b3[l0];
        }
    }
    return 0;
}
