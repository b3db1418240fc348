typedef float tw_golden_f32x16 __attribute__((vector_size(64)));
typedef float tw_golden_f32x16u __attribute__((vector_size(64), aligned(4), may_alias));
typedef float tw_golden_f32x8 __attribute__((vector_size(32)));
typedef float tw_golden_f32x8u __attribute__((vector_size(32), aligned(4), may_alias));

__SIZE_TYPE__ tw_golden_workspace_bytes(void)
{
    return 3903;
}

int tw_golden(const float *b0, const float *b1, float *b2, void *workspace)
{
    typedef tw_golden_f32x16 f32x16;
    typedef tw_golden_f32x16u f32x16u;
    typedef tw_golden_f32x8u f32x8u;
    if (!workspace)
        return 1;
    char *base = (char *)(((__UINTPTR_TYPE__)workspace + 63) & -(__UINTPTR_TYPE__)64);
    float *p = (float *)(base + 0);
    for (long p0 = 0; p0 < 2; p0++) {
        for (long p1 = 0; p1 < 20; p1++) {
            *(f32x16u *)&p[p0 * 320 + p1 * 16] = *(const f32x16u *)&b1[p1 * 40 + p0 * 16];
        }
    }
    for (long p1_1 = 0; p1_1 < 20; p1_1++) {
        *(f32x16u *)&p[p1_1 * 16 + 640] = (f32x16){b1[p1_1 * 40 + 32], b1[p1_1 * 40 + 33], b1[p1_1 * 40 + 34], b1[p1_1 * 40 + 35], b1[p1_1 * 40 + 36], b1[p1_1 * 40 + 37], b1[p1_1 * 40 + 38], b1[p1_1 * 40 + 39], 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
    }
    for (long io = 0; io < 7; io++) {
        float *b2_at_1 = &b2[io * 160];
        for (long jo = 0; jo < 2; jo++) {
            float *b2_at_2 = &b2[io * 160 + jo * 16];
            f32x16 acc_4 = (f32x16){};
            f32x16 acc_5 = (f32x16){};
            f32x16 acc_6 = (f32x16){};
            f32x16 acc_7 = (f32x16){};
            for (long l2 = 0; l2 < 20; l2++) {
                const float *b0_at_1 = &b0[io * 80 + l2];
                f32x16 p_1 = *(f32x16u *)&p[jo * 320 + l2 * 16];
                acc_4 += b0_at_1[0] * p_1;
                acc_5 += b0_at_1[20] * p_1;
                acc_6 += b0_at_1[40] * p_1;
                acc_7 += b0_at_1[60] * p_1;
            }
            *(f32x16u *)&b2_at_2[0] = acc_4;
            *(f32x16u *)&b2_at_2[40] = acc_5;
            *(f32x16u *)&b2_at_2[80] = acc_6;
            *(f32x16u *)&b2_at_2[120] = acc_7;
        }
        f32x16 acc_8 = (f32x16){};
        f32x16 acc_9 = (f32x16){};
        f32x16 acc_10 = (f32x16){};
        f32x16 acc_11 = (f32x16){};
        for (long l2_1 = 0; l2_1 < 20; l2_1++) {
            const float *b0_at_2 = &b0[io * 80 + l2_1];
            f32x16 p_2 = *(f32x16u *)&p[l2_1 * 16 + 640];
            acc_8 += b0_at_2[0] * p_2;
            acc_9 += b0_at_2[20] * p_2;
            acc_10 += b0_at_2[40] * p_2;
            acc_11 += b0_at_2[60] * p_2;
        }
        *(f32x8u *)&b2_at_1[32] = __builtin_shufflevector(acc_8, acc_8, 0, 1, 2, 3, 4, 5, 6, 7);
        *(f32x8u *)&b2_at_1[72] = __builtin_shufflevector(acc_9, acc_9, 0, 1, 2, 3, 4, 5, 6, 7);
        *(f32x8u *)&b2_at_1[112] = __builtin_shufflevector(acc_10, acc_10, 0, 1, 2, 3, 4, 5, 6, 7);
        *(f32x8u *)&b2_at_1[152] = __builtin_shufflevector(acc_11, acc_11, 0, 1, 2, 3, 4, 5, 6, 7);
    }
    for (long jo_2 = 0; jo_2 < 2; jo_2++) {
        float *b2_at_3 = &b2[jo_2 * 16];
        f32x16 acc_12 = (f32x16){};
        f32x16 acc_13 = (f32x16){};
        for (long l2_2 = 0; l2_2 < 20; l2_2++) {
            const float *b0_at_3 = &b0[l2_2];
            f32x16 p_3 = *(f32x16u *)&p[jo_2 * 320 + l2_2 * 16];
            acc_12 += b0_at_3[560] * p_3;
            acc_13 += b0_at_3[580] * p_3;
        }
        *(f32x16u *)&b2_at_3[1120] = acc_12;
        *(f32x16u *)&b2_at_3[1160] = acc_13;
    }
    f32x16 acc_14 = (f32x16){};
    f32x16 acc_15 = (f32x16){};
    for (long l2_3 = 0; l2_3 < 20; l2_3++) {
        const float *b0_at_4 = &b0[l2_3];
        f32x16 p_4 = *(f32x16u *)&p[l2_3 * 16 + 640];
        acc_14 += b0_at_4[560] * p_4;
        acc_15 += b0_at_4[580] * p_4;
    }
    *(f32x8u *)&b2[1152] = __builtin_shufflevector(acc_14, acc_14, 0, 1, 2, 3, 4, 5, 6, 7);
    *(f32x8u *)&b2[1192] = __builtin_shufflevector(acc_15, acc_15, 0, 1, 2, 3, 4, 5, 6, 7);
    return 0;
}
