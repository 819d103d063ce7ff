//! Device trees as the firmware of a Raspberry Pi 4B hands them over (docs/hardware.md BOOT-8, MEM-1).

const MAGIC: u32 = 0xD00D_FEED;
const HEADER_BYTES: usize = 40;
const BEGIN_NODE: u32 = 1;
const END_NODE: u32 = 2;
const PROPERTY: u32 = 3;
const END: u32 = 9;

/// Where the firmware has been seen to put it.
pub const USUAL_PLACE: u64 = 0x2EFF_4000;
/// What the firmware reserves for it there.
const USUAL_BYTES: u64 = 0xC000;

/// A board of the BCM2711.
#[derive(Clone, Copy, Debug)]
pub struct Board {
    /// RAM on it.
    pub gigabytes: u32,
    /// Cells of `/memory`'s `reg`: two of address and one of size for each range.
    pub memory: &'static [u32],
    /// First bus address of `/emmc2bus`: by the stepping.
    pub emmc2_bus: u32,
    /// Revision code: its size is a power of two, or that the tree says it.
    pub revision: u32,
}

/// The boards that are sold, with `gpu_mem=76`.
pub const BOARDS: [Board; 5] = [
    Board {
        gigabytes: 1,
        memory: &[0, 0, 0x3B40_0000],
        emmc2_bus: 0xC000_0000,
        revision: 0xA0_3111,
    },
    Board {
        gigabytes: 2,
        memory: &[0, 0, 0x3B40_0000, 0, 0x4000_0000, 0x4000_0000],
        emmc2_bus: 0xC000_0000,
        revision: 0xB0_3114,
    },
    Board {
        gigabytes: 3,
        memory: &[0, 0, 0x3B40_0000, 0, 0x4000_0000, 0x8000_0000],
        emmc2_bus: 0,
        revision: 0xF0_3116,
    },
    Board {
        gigabytes: 4,
        memory: &[0, 0, 0x3B40_0000, 0, 0x4000_0000, 0xBC00_0000],
        emmc2_bus: 0xC000_0000,
        revision: 0xC0_3111,
    },
    Board {
        gigabytes: 8,
        // a size has one cell: what lies above 4 GiB is in two pieces
        memory: &[
            0,
            0,
            0x3B40_0000, //
            0,
            0x4000_0000,
            0xBC00_0000, //
            1,
            0,
            0x8000_0000, //
            1,
            0x8000_0000,
            0x8000_0000,
        ],
        emmc2_bus: 0,
        revision: 0xD0_3114,
    },
];

impl Board {
    /// The tree that its firmware leaves in memory.
    pub fn tree(&self) -> Vec<u8> {
        let mut tree = Writer::default();
        tree.reserve(0, 0x1000);
        tree.reserve(USUAL_PLACE, USUAL_BYTES);
        tree.begin("");
        tree.cells("#address-cells", &[2])
            .cells("#size-cells", &[1]);
        tree.text("compatible", "raspberrypi,4-model-b\0brcm,bcm2711");
        tree.text("model", "Raspberry Pi 4 Model B Rev 1.4");
        tree.begin("chosen");
        tree.text("bootargs", "coherent_pool=1M console=ttyAMA0,115200");
        tree.cells("kaslr-seed", &[0x1234_5678, 0x9ABC_DEF0]);
        tree.cells("rpi-sdram-size-gbit", &[8 * self.gigabytes]);
        tree.begin("bootloader").cells("boot-mode", &[1]).end();
        tree.end();
        tree.begin("memory@0").text("device_type", "memory");
        tree.cells("reg", self.memory).end();
        tree.begin("reserved-memory");
        tree.cells("#address-cells", &[2])
            .cells("#size-cells", &[1]);
        tree.cells("ranges", &[]);
        // no address: the kernel that wants it chooses one
        tree.begin("linux,cma").cells("size", &[0x0400_0000]);
        tree.cells("alloc-ranges", &[0, 0, 0x4000_0000]).end();
        tree.begin("nvram@0").cells("reg", &[0, 0x3AF5_C6A4, 0x82]);
        tree.cells("no-map", &[]).text("status", "okay").end();
        tree.end();
        tree.begin("emmc2bus");
        tree.cells("#address-cells", &[2])
            .cells("#size-cells", &[1]);
        let window = if self.emmc2_bus == 0 {
            0xFC00_0000
        } else {
            0x4000_0000
        };
        tree.cells("dma-ranges", &[0, self.emmc2_bus, 0, 0, window]);
        tree.begin("mmc@7e340000");
        tree.cells("reg", &[0, 0x7E34_0000, 0x100]).end();
        tree.end();
        tree.end();
        tree.finish()
    }
}

/// Writes a flattened tree (Devicetree Specification 0.4, chapter 5).
#[derive(Default)]
struct Writer {
    structure: Vec<u8>,
    strings: Vec<u8>,
    reservations: Vec<u8>,
}

impl Writer {
    fn word(&mut self, word: u32) {
        self.structure.extend(word.to_be_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.structure.extend(bytes);
        let padded = self.structure.len().next_multiple_of(4);
        self.structure.resize(padded, 0);
    }

    fn reserve(&mut self, start: u64, len: u64) {
        self.reservations.extend(start.to_be_bytes());
        self.reservations.extend(len.to_be_bytes());
    }

    fn begin(&mut self, name: &str) -> &mut Self {
        self.word(BEGIN_NODE);
        self.bytes(format!("{name}\0").as_bytes());
        self
    }

    fn end(&mut self) {
        self.word(END_NODE);
    }

    fn property(&mut self, name: &str, value: &[u8]) -> &mut Self {
        let name_at = self.strings.len() as u32;
        self.strings.extend(name.bytes().chain([0]));
        self.word(PROPERTY);
        self.word(value.len() as u32);
        self.word(name_at);
        self.bytes(value);
        self
    }

    fn cells(&mut self, name: &str, cells: &[u32]) -> &mut Self {
        let value: Vec<u8> = cells.iter().flat_map(|cell| cell.to_be_bytes()).collect();
        self.property(name, &value)
    }

    fn text(&mut self, name: &str, text: &str) -> &mut Self {
        self.property(name, format!("{text}\0").as_bytes())
    }

    fn finish(mut self) -> Vec<u8> {
        self.word(END);
        self.reserve(0, 0);
        let structure_at = HEADER_BYTES + self.reservations.len();
        let strings_at = structure_at + self.structure.len();
        let header = [
            MAGIC,
            (strings_at + self.strings.len()) as u32,
            structure_at as u32,
            strings_at as u32,
            HEADER_BYTES as u32,
            17,
            16,
            0,
            self.strings.len() as u32,
            self.structure.len() as u32,
        ];
        let mut tree: Vec<u8> = header.iter().flat_map(|word| word.to_be_bytes()).collect();
        tree.extend(self.reservations);
        tree.extend(self.structure);
        tree.extend(self.strings);
        tree
    }
}
