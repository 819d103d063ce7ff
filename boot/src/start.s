// From the firmware's hand-over to Rust on SP_EL0 at EL1, on each core.
//
// Runs with MMU and caches off: every access is Device memory, so nothing here is unaligned and
// nothing is an exclusive. Registers that live across the file: x19 core, x20 device tree (x0 at
// entry), x21 address where the image was loaded, x22 exception level at entry.

.section .text.boot, "ax"

// An arm64 Image header: firmware that knows it honours text_offset, so header and config.txt agree.
.global _start
_start:
    b       .Lentry                     // code0
    .long   0                           // code1
    .quad   {load_addr}                 // text_offset
    .quad   __image_bytes               // image_size: file, BSS and stacks
    .quad   0xA                         // flags: little-endian, 4 KiB pages, anywhere
    .quad   0, 0, 0
    .ascii  "ARM\x64"
    .long   0

.Lentry:
    msr     daifset, #0xf
    mrs     x19, mpidr_el1
    and     x19, x19, #3
    cbnz    x19, .Lpark                 // QEMU starts every core here when it is given an ELF
    mov     x20, x0
    adr     x21, _start
    mrs     x22, CurrentEL
    lsr     x22, x22, #2

    // The ACT LED (GPIO 42, active high) is the first sign of life: lit here, dark when the MMU is about
    // to go on (`__led_off`), lit again by the first Rust line behind it.
    ldr     x9, ={gpio}
    ldr     w10, [x9, #0x10]            // GPFSEL4
    bic     w10, w10, #(7 << 6)
    orr     w10, w10, #(1 << 6)         // GPIO 42: output
    str     w10, [x9, #0x10]
    mov     w11, #(1 << 10)
    str     w11, [x9, #0x20]            // GPSET1

    // Move to the link address if the firmware put the image elsewhere (0x200000 without
    // kernel_address). The two places may overlap: what copies runs behind the end of both.
    ldr     x1, ={load_addr}
    cmp     x21, x1
    b.eq    __placed
    mov     x23, #1
    tst     x21, #7
    b.ne    .Lblink_code                // not even the copy could read it
    ldr     x2, =__loaded_bytes
    mov     x4, x21
    add     x3, x1, x2                  // ends: of the new place, of the old one
    add     x5, x4, x2
    cmp     x3, x5
    csel    x8, x3, x5, hi
    add     x8, x8, #63
    and     x8, x8, #~63
    adr     x9, __mover
    adr     x10, .Lmover_end
    mov     x11, x8
0:  ldr     w12, [x9], #4
    str     w12, [x11], #4
    cmp     x9, x10
    b.lo    0b
    ldr     x7, =__placed               // absolute: continue in the copy
    dsb     sy
    ic      iallu
    dsb     sy
    isb
    br      x8

// Copies x1 to x3 from x4 to x5 and continues at x7: downwards from the front, upwards from the back.
__mover:
    cmp     x1, x4
    b.hi    1f
0:  ldp     x9, x10, [x4], #16
    stp     x9, x10, [x1], #16
    cmp     x1, x3
    b.lo    0b
    b       2f
1:  ldp     x9, x10, [x5, #-16]!
    stp     x9, x10, [x3, #-16]!
    cmp     x3, x1
    b.hi    1b
2:  dsb     sy
    ic      iallu
    dsb     sy
    isb
    br      x7
.Lmover_end:

__placed:
    bl      .Lenter_el1

    // RAM holds leftovers of the firmware and of the previous boot: clear what Rust calls zero,
    // paint the stacks, then drop any line of it that a cache might hold before caches go on.
    ldr     x0, =__bss_start
    ldr     x1, =__bss_end
0:  stp     xzr, xzr, [x0], #16
    cmp     x0, x1
    b.lo    0b
    ldr     x0, =__stacks_start
    ldr     x1, =__stacks_end
    ldr     x2, ={stack_paint}
0:  stp     x2, x2, [x0], #16
    cmp     x0, x1
    b.lo    0b
    ldr     x0, =__image_start
    ldr     x1, =__image_end
0:  dc      ivac, x0
    add     x0, x0, #64
    cmp     x0, x1
    b.lo    0b
    dsb     sy

    bl      .Lset_stacks
    mov     x0, x20
    mov     x1, x21
    mov     x2, x22
    mov     x29, xzr
    mov     x30, xzr
    b       {boot_core}

// Cores 1-3, released from the spin table.
.global _secondary_start
_secondary_start:
    msr     daifset, #0xf
    mrs     x19, mpidr_el1
    and     x19, x19, #3
    bl      .Lenter_el1
    bl      __mmu_on
    bl      .Lset_stacks
    mov     x0, x19
    mov     x29, xzr
    mov     x30, xzr
    b       {boot_secondary}

.Lpark:
    wfe
    b       .Lpark

// Returns at EL1 with every register that the firmware leaves UNKNOWN set (docs/hardware.md BOOT-6).
.Lenter_el1:
    mov     x18, x30
    mrs     x9, CurrentEL
    cmp     x9, #(3 << 2)
    b.ne    .Lat_el2_or_el1
    ldr     x9, ={scr_el3}
    msr     scr_el3, x9
    msr     cptr_el3, xzr
    ldr     x9, ={sctlr_el2}
    msr     sctlr_el2, x9
    mov     x9, #{spsr_el2h}
    msr     spsr_el3, x9
    adr     x9, .Lat_el2_or_el1
    msr     elr_el3, x9
    isb
    eret

.Lat_el2_or_el1:
    mrs     x9, CurrentEL
    cmp     x9, #(2 << 2)
    b.ne    .Lat_el1
    adr     x9, __el2_vectors
    msr     vbar_el2, x9
    mrs     x9, midr_el1
    msr     vpidr_el2, x9
    mrs     x9, mpidr_el1
    msr     vmpidr_el2, x9
    ldr     x9, ={hcr_el2}
    msr     hcr_el2, x9
    ldr     x9, ={cptr_el2}
    msr     cptr_el2, x9
    msr     hstr_el2, xzr
    mrs     x9, cnthctl_el2
    orr     x9, x9, #{cnthctl_el2_or}
    msr     cnthctl_el2, x9
    msr     cntvoff_el2, xzr
    msr     vttbr_el2, xzr
    mrs     x9, pmcr_el0
    ubfx    x9, x9, #11, #5             // N: all event counters belong to EL1, nothing traps
    msr     mdcr_el2, x9
    ldr     x9, ={actlr_el2}
    msr     actlr_el2, x9               // EL1 may tune CPUECTLR (MMU-11)
    ldr     x9, ={sctlr_el1_off}
    msr     sctlr_el1, x9
    mov     x9, #{spsr_el1h}
    msr     spsr_el2, x9
    adr     x9, .Lat_el1
    msr     elr_el2, x9
    isb
    eret

.Lat_el1:
    ldr     x9, ={sctlr_el1_off}
    msr     sctlr_el1, x9
    ldr     x9, =__vectors
    msr     vbar_el1, x9
    ldr     x9, ={cpacr_el1}
    msr     cpacr_el1, x9
    isb
    msr     fpcr, xzr                   // rounding, flush-to-zero, default NaN: all decide bits
    msr     fpsr, xzr
    mov     x30, x18
    ret

// SP_EL1 serves exceptions only, Rust runs on SP_EL0: an overflow has a good stack to report on.
.Lset_stacks:
    ldr     x9, ={stacks}
    ldr     x10, ={core_stack_bytes}
    madd    x9, x10, x19, x9
    msr     spsel, #1
    ldr     x10, ={exception_stack_top}
    add     x11, x9, x10
    mov     sp, x11
    msr     spsel, #0
    ldr     x10, ={main_stack_top}
    add     x11, x9, x10
    mov     sp, x11
    ret

// Turns MMU and caches on with the tables at `{tables}`. Clobbers x9, x10.
.global __mmu_on
__mmu_on:
    ic      iallu
    tlbi    vmalle1
    dsb     nsh
    isb
    ldr     x9, ={mair}
    msr     mair_el1, x9
    ldr     x9, ={tcr}
    mrs     x10, id_aa64mmfr0_el1
    bfi     x9, x10, #32, #3            // IPS = PARange: what this core can address
    msr     tcr_el1, x9
    ldr     x9, ={tables}
    msr     ttbr0_el1, x9
    dsb     sy
    isb
    ldr     x9, ={sctlr_el1_on}
    msr     sctlr_el1, x9
    isb
    ret

// The LED goes dark: the MMU is about to go on. Clobbers x9, x10.
.global __led_off
__led_off:
    ldr     x9, ={gpio}
    mov     w10, #(1 << 10)
    str     w10, [x9, #0x2c]            // GPCLR1
    ret

.ltorg

.balign 2048
__el2_vectors:
.rept 16
    b       .Lel2_exception
    .balign 128
.endr
