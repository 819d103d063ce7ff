// The sixteen exception vectors of EL1, and the frame that each one builds.
//
// Frame, 816 bytes: x0-x30 at 0, SP_EL0 at 248, ELR and SPSR at 256, ESR and FAR at 272, FPSR and
// FPCR at 288, q0-q31 at 304. The handler is Rust and may use any register, so all are kept.

.section .text.vectors, "ax"

// Before the MMU is on there is no console, and an atomic is an abort of its own: the LED must do.
// Neither stack nor memory is touched. TPIDR_EL1 holds x0 meanwhile.
.macro blink_without_mmu
    msr     tpidr_el1, x0
    mrs     x0, sctlr_el1
    tbz     x0, #0, 9f
    mrs     x0, tpidr_el1
    b       8f
9:  b       __blind_exception
8:
.endm

.macro exception index
    .balign 128
    blink_without_mmu
    sub     sp, sp, #816
    stp     x0, x1, [sp]
    mov     x1, #\index
    b       __exception_common
.endm

// Taken while SP_EL1 was in use: the handler itself failed and its stack may be what is wrong.
// Start over at its top; what is lost there is not returned to (`Windows::resume_at`). TPIDR_EL0, which
// nothing else uses, holds x1 meanwhile.
.macro nested_exception index
    .balign 128
    blink_without_mmu
    msr     tpidr_el1, x0
    msr     tpidr_el0, x1
    mrs     x0, mpidr_el1
    and     x0, x0, #3
    ldr     x1, ={core_stack_bytes}
    mul     x0, x0, x1
    ldr     x1, ={stacks}
    add     x0, x0, x1
    ldr     x1, ={exception_stack_top}
    add     x0, x0, x1
    sub     sp, x0, #816
    mrs     x0, tpidr_el1
    mrs     x1, tpidr_el0
    stp     x0, x1, [sp]
    mov     x1, #\index
    b       __exception_common
.endm

.balign 2048
.global __vectors
__vectors:
    exception 0                         // current EL, SP_EL0: synchronous
    exception 1                         // IRQ
    exception 2                         // FIQ
    exception 3                         // SError
    nested_exception 4                  // current EL, SP_EL1
    nested_exception 5
    nested_exception 6
    nested_exception 7
    exception 8                         // lower EL, AArch64
    exception 9
    exception 10
    exception 11
    exception 12                        // lower EL, AArch32
    exception 13
    exception 14
    exception 15

.balign 16
__exception_common:
    stp     x2, x3, [sp, #16]
    stp     x4, x5, [sp, #32]
    stp     x6, x7, [sp, #48]
    stp     x8, x9, [sp, #64]
    stp     x10, x11, [sp, #80]
    stp     x12, x13, [sp, #96]
    stp     x14, x15, [sp, #112]
    stp     x16, x17, [sp, #128]
    stp     x18, x19, [sp, #144]
    stp     x20, x21, [sp, #160]
    stp     x22, x23, [sp, #176]
    stp     x24, x25, [sp, #192]
    stp     x26, x27, [sp, #208]
    stp     x28, x29, [sp, #224]
    mrs     x2, sp_el0
    stp     x30, x2, [sp, #240]
    mrs     x2, elr_el1
    mrs     x3, spsr_el1
    stp     x2, x3, [sp, #256]
    mrs     x2, esr_el1
    mrs     x3, far_el1
    stp     x2, x3, [sp, #272]
    mrs     x2, fpsr
    mrs     x3, fpcr
    stp     x2, x3, [sp, #288]
    add     x2, sp, #304
    stp     q0, q1, [x2]
    stp     q2, q3, [x2, #32]
    stp     q4, q5, [x2, #64]
    stp     q6, q7, [x2, #96]
    stp     q8, q9, [x2, #128]
    stp     q10, q11, [x2, #160]
    stp     q12, q13, [x2, #192]
    stp     q14, q15, [x2, #224]
    stp     q16, q17, [x2, #256]
    stp     q18, q19, [x2, #288]
    stp     q20, q21, [x2, #320]
    stp     q22, q23, [x2, #352]
    stp     q24, q25, [x2, #384]
    stp     q26, q27, [x2, #416]
    stp     q28, q29, [x2, #448]
    stp     q30, q31, [x2, #480]

    mov     x0, sp
    mov     x29, xzr                    // a backtrace ends here
    bl      {boot_exception}

    add     x2, sp, #304
    ldp     q0, q1, [x2]
    ldp     q2, q3, [x2, #32]
    ldp     q4, q5, [x2, #64]
    ldp     q6, q7, [x2, #96]
    ldp     q8, q9, [x2, #128]
    ldp     q10, q11, [x2, #160]
    ldp     q12, q13, [x2, #192]
    ldp     q14, q15, [x2, #224]
    ldp     q16, q17, [x2, #256]
    ldp     q18, q19, [x2, #288]
    ldp     q20, q21, [x2, #320]
    ldp     q22, q23, [x2, #352]
    ldp     q24, q25, [x2, #384]
    ldp     q26, q27, [x2, #416]
    ldp     q28, q29, [x2, #448]
    ldp     q30, q31, [x2, #480]
    ldp     x2, x3, [sp, #288]
    msr     fpsr, x2
    msr     fpcr, x3
    ldp     x2, x3, [sp, #256]
    msr     elr_el1, x2
    msr     spsr_el1, x3
    ldp     x2, x3, [sp, #16]
    ldp     x4, x5, [sp, #32]
    ldp     x6, x7, [sp, #48]
    ldp     x8, x9, [sp, #64]
    ldp     x10, x11, [sp, #80]
    ldp     x12, x13, [sp, #96]
    ldp     x14, x15, [sp, #112]
    ldp     x16, x17, [sp, #128]
    ldp     x18, x19, [sp, #144]
    ldp     x20, x21, [sp, #160]
    ldp     x22, x23, [sp, #176]
    ldp     x24, x25, [sp, #192]
    ldp     x26, x27, [sp, #208]
    ldp     x28, x29, [sp, #224]
    ldr     x30, [sp, #240]
    ldp     x0, x1, [sp]
    add     sp, sp, #816
    eret

// u64 __probe32(addr): bit 32 set and the word; 0 where the read is aborted; bit 33 set and the ESR where an SError
// came in between. `boot_exception` turns either inside the window into a return through its end.
.global __probe32, __probe_window, __probe_failed, __probe_disturbed
__probe32:
    dsb     sy                          // what earlier accesses went wrong with is no answer to this one
    isb
__probe_window:
    ldr     w0, [x0]
    dsb     sy                          // a late external abort must arrive inside the window
    isb
    orr     x0, x0, #(1 << 32)
    ret
__probe_failed:
    mov     x0, xzr
    ret
__probe_disturbed:
    mrs     x0, esr_el1
    ubfx    x0, x0, #0, #32
    orr     x0, x0, #(1 << 33)
    ret

// u64 __set_cpuectlr(value): the value read back, or 0 where the access is undefined or trapped.
.global __set_cpuectlr, __cpuectlr_window, __cpuectlr_failed
__set_cpuectlr:
__cpuectlr_window:
    msr     s3_1_c15_c2_1, x0
    isb
    mrs     x1, s3_1_c15_c2_1
    orr     x0, x1, #(1 << 63)          // QEMU reads 0: the top bit says that nothing was trapped
    ret
__cpuectlr_failed:
    mov     x0, xzr
    ret

// u64 __unmask_serror(): 0, or the ESR of the SError that was pending when it was unmasked.
.global __unmask_serror, __unmask_window, __unmask_taken
__unmask_serror:
__unmask_window:
    msr     daifclr, #4
    isb
    mov     x0, xzr
    ret
__unmask_taken:
    mrs     x0, esr_el1
    ret

.ltorg
