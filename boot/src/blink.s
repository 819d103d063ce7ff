// What the LED says where the start ends.

// No console yet: the LED says what happened, as one long blink and x23 short ones (docs/flash.md; the
// firmware's own codes have none or several long ones). Uses neither stack nor memory.
.Lel2_exception:
    mov     x23, #2
    b       .Lblink_code
// An exception at EL1 before the MMU is on.
.global __blind_exception
__blind_exception:
    mov     x23, #3
    b       .Lblink_code
// The tables do not hold the image: a bug of the linker script.
.global __no_tables
__no_tables:
    mov     x23, #4

.Lblink_code:
    ldr     x9, ={gpio}
    mov     w11, #(1 << 10)
    mrs     x12, cntfrq_el0
    cbnz    x12, .Lblink_round
    ldr     x12, ={default_counter_hz}
.Lblink_round:
    str     w11, [x9, #0x20]            // GPSET1
    mov     x14, x12
    bl      .Ldelay
    str     w11, [x9, #0x2c]            // GPCLR1
    lsr     x14, x12, #1
    bl      .Ldelay
    mov     x13, x23
.Lblink:
    str     w11, [x9, #0x20]
    lsr     x14, x12, #2
    bl      .Ldelay
    str     w11, [x9, #0x2c]
    lsr     x14, x12, #2
    bl      .Ldelay
    subs    x13, x13, #1
    b.ne    .Lblink
    mov     x14, x12
    bl      .Ldelay
    b       .Lblink_round
.Ldelay:                                // x14 counter ticks
    isb
    mrs     x15, cntpct_el0
    add     x15, x15, x14
0:  yield
    isb
    mrs     x16, cntpct_el0
    cmp     x16, x15
    b.lo    0b
    ret
