//! A card at the end of the lines: states, addresses, what it says of itself, and faults on demand.

const RCA: u32 = 0xB368;
/// The card status with which a transfer is stopped: data state, ready.
pub(in super::super) const STOPPED: u32 = 0xB00;
const GENERAL_ERROR: u32 = 1 << 19;
pub(in super::super) const CID: u128 = 0x0353_4453_5533_3247_8012_3456_7801_5700;

pub(in super::super) const CSD: u128 = 1 << 126 | 0x5B5 << 84 | 8191 << 48;
pub(in super::super) const SCR: [u8; 8] = [2, 0x35, 0x80, 0, 0, 0, 0, 0];

/// What goes wrong with one command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Effect {
    Nothing,
    /// No answer.
    Silent,
    /// An error bit in R1, and nothing is done.
    Refused,
    /// An answer, then no data.
    NoData,
    /// Half of the data, then a wrong CRC.
    Crc,
    /// All of the data, the last of them wrong, and nobody says so but the answer to CMD12.
    Ecc,
    /// All of the data by DMA, a byte of them wrong, and nobody says so.
    Bent,
    /// The DMA engine writes nothing, and nobody says so.
    Lost,
    /// The automatic CMD12 goes unanswered.
    AutoStop,
    /// The DMA engine stops.
    Adma,
    /// Data and busy end, and the controller never says so.
    NoEnd,
    /// The end comes together with a time-out.
    LateEnd,
    /// The card loses its power for a moment.
    Forgets,
}

/// A fault of the commands of one name: `A51`, `6 check`, `6 switch`, `18`.
#[derive(Clone, Debug)]
pub(in super::super) struct Fault {
    pub(in super::super) command: &'static str,
    /// Commands of this name that go well before.
    pub(in super::super) skip: usize,
    pub(in super::super) times: usize,
    pub(in super::super) effect: Effect,
}

pub(in super::super) enum Reply {
    /// Nothing was asked for.
    None,
    Silence,
    Short(u32),
    Long(u128),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle = 0,
    Ready = 1,
    Identified = 2,
    StandBy = 3,
    Transfer = 4,
    Data = 5,
}

pub(in super::super) struct Card {
    pub(in super::super) faults: Vec<Fault>,
    /// Silent until its power has been taken away.
    pub(in super::super) is_wedged: bool,
    /// The slot is empty.
    pub(in super::super) is_absent: bool,
    pub(in super::super) four_lines: bool,
    pub(in super::super) high_speed: bool,
    pub(in super::super) image: Option<Vec<u8>>,
    /// Commands it was sent, by name.
    pub(in super::super) log: Vec<String>,
    state: State,
    is_app: bool,
    has_address: bool,
    first_block: usize,
    switches: bool,
}

impl Card {
    /// A card of 4 GiB whose bytes are [`byte`].
    pub(in super::super) fn sdhc() -> Self {
        Self {
            faults: Vec::new(),
            is_wedged: false,
            is_absent: false,
            four_lines: false,
            high_speed: false,
            image: None,
            log: Vec::new(),
            state: State::Idle,
            is_app: false,
            has_address: false,
            first_block: 0,
            switches: false,
        }
    }

    fn forget(&mut self) {
        (self.state, self.has_address) = (State::Idle, false);
        (self.four_lines, self.high_speed) = (false, false);
        self.is_app = false;
    }

    pub(super) fn power_on(&mut self) {
        self.is_wedged = false;
        self.forget();
    }

    pub(super) fn is_identifying(&self) -> bool {
        !matches!(self.state, State::Transfer | State::Data)
    }

    /// What its timing bears: a quarter more than the specification's.
    pub(super) fn highest_hz(&self) -> u32 {
        if self.high_speed {
            62_500_000
        } else {
            31_250_000
        }
    }

    /// The transfer has been stopped.
    pub(super) fn end(&mut self) {
        if self.state == State::Data {
            self.state = State::Transfer;
        }
    }

    fn fault(&mut self, name: &str) -> Effect {
        let Some(fault) = self
            .faults
            .iter_mut()
            .find(|fault| fault.command == name && fault.times > 0)
        else {
            return Effect::Nothing;
        };
        if fault.skip > 0 {
            fault.skip -= 1;
            return Effect::Nothing;
        }
        fault.times -= 1;
        fault.effect
    }

    fn status(&self) -> u32 {
        (self.state as u32) << 9 | 0x100
    }

    /// What the card sends after a command with data.
    pub(super) fn data(&self, index: u8, len: usize) -> Vec<u8> {
        match index {
            51 => SCR.to_vec(),
            6 => {
                let mut status = vec![0; 64];
                (status[13], status[16]) = (3, u8::from(self.switches));
                status
            }
            _ => (0..len)
                .map(|i| self.byte(self.first_block * 512 + i))
                .collect(),
        }
    }

    fn byte(&self, offset: usize) -> u8 {
        match &self.image {
            Some(image) => image.get(offset).copied().unwrap_or(0),
            None => byte(offset),
        }
    }

    /// Takes a command; what it answers, and what goes wrong after.
    pub(super) fn answer(&mut self, index: u8, argument: u32) -> (Reply, Effect) {
        let is_app = core::mem::take(&mut self.is_app);
        let name = match (is_app, index, argument >> 31) {
            (false, 6, 0) => "6 check".into(),
            (false, 6, _) => "6 switch".into(),
            (true, ..) => format!("A{index}"),
            _ => index.to_string(),
        };
        self.log.push(name.clone());
        if self.is_absent && index == 0 {
            // It has no answer that could be missed.
            return (Reply::None, Effect::Nothing);
        }
        if self.is_wedged || self.is_absent {
            return (Reply::Silence, Effect::Nothing);
        }
        match self.fault(&name) {
            Effect::Silent => (Reply::Silence, Effect::Silent),
            Effect::Refused => (Reply::Short(self.status() | GENERAL_ERROR), Effect::NoData),
            Effect::Forgets => {
                self.forget();
                (Reply::Silence, Effect::Forgets)
            }
            effect => (self.obey(is_app, index, argument), effect),
        }
    }

    fn obey(&mut self, is_app: bool, index: u8, argument: u32) -> Reply {
        let is_mine = self.has_address && argument >> 16 == RCA;
        let before = self.status();
        match (is_app, index, self.state) {
            (_, 0, _) => {
                self.forget();
                return Reply::None;
            }
            (_, 8, State::Idle) => return Reply::Short(argument),
            (_, 55, State::Idle) => self.is_app = true,
            (_, 55, _) if is_mine => self.is_app = true,
            (true, 41, State::Idle) => {
                self.state = State::Ready;
                return Reply::Short(0xC0FF_8000);
            }
            (_, 2, State::Ready) => {
                self.state = State::Identified;
                return Reply::Long(CID);
            }
            (_, 3, State::Identified) => {
                (self.state, self.has_address) = (State::StandBy, true);
                return Reply::Short(RCA << 16 | 0x500);
            }
            (_, 9, State::StandBy) if is_mine => {
                return Reply::Long(CSD);
            }
            (_, 7, State::StandBy) if is_mine => self.state = State::Transfer,
            (_, 13, _) if is_mine => {}
            (true, 6, State::Transfer) => self.four_lines = argument == 2,
            (true, 51, State::Transfer) => {}
            (false, 6, State::Transfer) => {
                self.switches = argument >> 31 != 0;
                self.high_speed |= self.switches;
            }
            (_, 12, State::Data) => self.state = State::Transfer,
            (_, 17 | 18, State::Transfer) => {
                (self.state, self.first_block) = (State::Data, argument as usize);
            }
            _ => return Reply::Silence,
        }
        Reply::Short(before)
    }
}

/// The byte of a card at `offset`.
pub(in super::super) fn byte(offset: usize) -> u8 {
    (offset ^ offset >> 9 ^ offset >> 17) as u8
}
