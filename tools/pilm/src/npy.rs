//! Arrays of f32 in NumPy's file format.
//!
//! Resources: the NPY format specification in NumPy's reference, `numpy.lib.format`, version 1.0.

use std::io::{self, Write};

const MAGIC: &[u8] = b"\x93NUMPY\x01\x00";

/// The start of a file: an array of `shape`, rows last. The little-endian values follow.
///
/// # Errors
/// Those of the writer.
pub fn write_header<W: Write>(mut out: W, shape: &[usize]) -> io::Result<()> {
    let dims: Vec<String> = shape.iter().map(|n| format!("{n},")).collect();
    let dict = format!(
        "{{'descr': '<f4', 'fortran_order': False, 'shape': ({}), }}",
        dims.join(" ")
    );
    // Magic, a two-byte length and the line feed at the end fill whole 64-byte units.
    let len = (MAGIC.len() + 2 + dict.len() + 1).next_multiple_of(64) - MAGIC.len() - 2;
    out.write_all(MAGIC)?;
    out.write_all(&(len as u16).to_le_bytes())?;
    writeln!(out, "{dict:<width$}", width = len - 1)
}

/// Writes `values` as little-endian f32.
///
/// # Errors
/// Those of the writer.
pub fn write_values<W: Write>(mut out: W, values: &[f32]) -> io::Result<()> {
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    out.write_all(&bytes)
}

/// Shape and values of a file in memory.
///
/// # Errors
/// [`Error`] for anything but a C-order array of little-endian f32.
pub fn parse(file: &[u8]) -> Result<(Vec<usize>, Vec<f32>), Error> {
    let rest = file.strip_prefix(MAGIC).ok_or(Error::Magic)?;
    let (len, rest) = rest.split_first_chunk::<2>().ok_or(Error::Length)?;
    let (dict, data) = rest
        .split_at_checked(usize::from(u16::from_le_bytes(*len)))
        .ok_or(Error::Length)?;
    let dict = std::str::from_utf8(dict).map_err(|_| Error::Type)?;
    if !dict.contains("'<f4'") || !dict.contains("'fortran_order': False") {
        return Err(Error::Type);
    }
    let shape = dict
        .split_once('(')
        .and_then(|(_, rest)| rest.split_once(')'))
        .map(|(shape, _)| shape.split(',').map(str::trim).filter(|n| !n.is_empty()))
        .ok_or(Error::Type)?
        .map(|n| n.parse().map_err(|_| Error::Type))
        .collect::<Result<Vec<usize>, Error>>()?;
    if data.len() != shape.iter().product::<usize>() * 4 {
        return Err(Error::Length);
    }
    let (values, _) = data.as_chunks();
    let values = values.iter().map(|v| f32::from_le_bytes(*v)).collect();
    Ok((shape, values))
}

/// Why a file is not an array of f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It does not start as a version 1.0 file does.
    #[error("not a version 1.0 .npy file")]
    Magic,
    /// Another element type or order than little-endian f32 in C order.
    #[error("not a little-endian f32 array in C order")]
    Type,
    /// Too short or too long for its shape.
    #[error("the file's length does not match its shape")]
    Length,
}

#[cfg(test)]
mod tests {
    use super::{Error, parse, write_header, write_values};

    #[test]
    fn what_is_written_is_read() {
        for shape in [vec![3], vec![2, 3], vec![1, 2, 1, 3]] {
            let values: Vec<f32> = (0..shape.iter().product())
                .map(|n| n as f32 - 1.5)
                .collect();
            let mut file = Vec::new();
            write_header(&mut file, &shape).unwrap();
            assert_eq!(file.len() % 64, 0);
            assert_eq!(file.last(), Some(&b'\n'));
            write_values(&mut file, &values).unwrap();
            assert_eq!(parse(&file), Ok((shape, values)));
        }
    }

    #[test]
    fn damage_is_refused() {
        let mut file = Vec::new();
        write_header(&mut file, &[2]).unwrap();
        assert_eq!(parse(&file), Err(Error::Length));
        assert_eq!(parse(&file[1..]), Err(Error::Magic));
        let other = String::from_utf8_lossy(&file[10..]).replace("<f4", "<f8");
        let file = [&file[..10], other.as_bytes()].concat();
        assert_eq!(parse(&file), Err(Error::Type));
    }
}
