//! Screenshots: regular files of the workspace, of bounded size, PNG or JPEG by what they hold. Whatever they hold comes
//! from the worker.

use std::io::{self, Cursor, Read};
use std::path::Path;

use rust_decimal::Decimal;
use zune_jpeg::errors::DecodeErrors;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use rules::domain::{Digest, Finding, Points};
use rules::judging::mean_colour::{Sum, is_near, written};
use rules::mission::model::{Expected, Region};

use super::evidence::{obstacle, open_beneath};

/// Bytes of a file.
pub const LARGEST_FILE: u64 = 8 * 1024 * 1024;
/// Pixels of a picture; eight thousand by four thousand and more.
const MOST_PIXELS: usize = 40_000_000;

/// A screenshot as it is in the workspace.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// The path of the picture in the workspace.
    pub path: String,
    /// The media type: `image/png` or `image/jpeg`.
    pub media_type: &'static str,
    /// The digest of the bytes, which alone is recorded.
    pub digest: Digest,
    pub bytes: Vec<u8>,
}

/// Why a screenshot of the workspace cannot be used: its path, and what is wrong.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    /// The path leads to no regular file of the workspace.
    #[error("{0} cannot be opened: {1}")]
    Obstacle(String, String),
    /// The file cannot be read.
    #[error("{0} cannot be read: {1}")]
    Unreadable(String, #[source] io::Error),
    /// The file is too large.
    #[error("{0} has more than {LARGEST_FILE} bytes")]
    TooLarge(String),
    /// The file is neither PNG nor JPEG.
    #[error("{0} is neither a PNG nor a JPEG")]
    Kind(String),
    /// The file is no whole picture.
    #[error("{0} cannot be decoded: {1}")]
    Broken(String, #[source] DecodeError),
}

/// Why bytes are no picture.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// The file cannot be decoded as a PNG.
    #[error(transparent)]
    Png(#[from] png::DecodingError),
    /// The file cannot be decoded as a JPEG.
    #[error(transparent)]
    Jpeg(#[from] DecodeErrors),
    /// The picture has no size.
    #[error("it has no size")]
    NoSize,
    /// The decoded picture would not fit into memory.
    #[error("it is too large")]
    TooLarge,
    /// The picture has too many pixels; the numbers are its width and height.
    #[error("it has {0} by {1} pixels, which is more than {MOST_PIXELS}")]
    Pixels(usize, usize),
}

/// Reads the pictures of `paths` that are there. Blocks.
///
/// # Errors
///
/// When one of them is there and cannot be used: it is no regular file of the workspace, cannot be read, is too
/// large, or neither PNG nor JPEG.
pub fn read_all<'p>(
    workspace: &Path,
    paths: impl Iterator<Item = &'p str>,
) -> Result<Vec<Picture>, PictureError> {
    let found = paths.filter_map(|path| read(workspace, path).transpose());
    found.collect()
}

fn read(workspace: &Path, path: &str) -> Result<Option<Picture>, PictureError> {
    let path = path.to_owned();
    let file = match open_beneath(workspace, &path) {
        Ok(file) => file,
        Err(error) => {
            let obstacle = obstacle(workspace, &path, &error);
            return obstacle.map_or(Ok(None), |why| Err(PictureError::Obstacle(path, why)));
        }
    };
    let mut bytes = Vec::new();
    if let Err(error) = file.take(LARGEST_FILE + 1).read_to_end(&mut bytes) {
        return Err(PictureError::Unreadable(path, error));
    }
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(PictureError::TooLarge(path));
    }
    let media_type = if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        "image/png"
    } else if bytes.starts_with(b"\xff\xd8\xff") {
        "image/jpeg"
    } else {
        return Err(PictureError::Kind(path));
    };
    Ok(Some(Picture { path, media_type, digest: Digest::of(&bytes), bytes }))
}

/// The expectations that a picture does not meet, in words.
///
/// # Errors
///
/// When it cannot be decoded.
pub fn violations(
    picture: &Picture,
    expected: &[Expected],
    tolerance: Points,
) -> Result<Vec<Finding>, PictureError> {
    let pixels = decode(picture)?;
    let violated = expected.iter().filter_map(|wanted| violated(&pixels, picture, wanted, tolerance));
    Ok(violated.collect())
}

fn violated(pixels: &Pixels, picture: &Picture, wanted: &Expected, tolerance: Points) -> Option<Finding> {
    let color = wanted.color?;
    let what = wanted.words();
    let (path, whole) = (&picture.path, pixels.size());
    let region = wanted.region.unwrap_or(whole);
    let said = |words: String| {
        let evidence = format!("{path}: {}", picture.digest);
        Some(Finding::new(wanted.severity, words).with_evidence(evidence))
    };
    let Some(mean) = pixels.sum(region).and_then(|sum| sum.mean()) else {
        let words = format!(
            "missing_element: {what}: the region lies beyond the edge of {path}, which has {} by {} pixels",
            whole.width, whole.height
        );
        return said(words);
    };
    if is_near(mean, color, tolerance) {
        return None;
    }
    let share = tolerance.value() / Decimal::ONE_HUNDRED;
    let words = format!(
        "visual_defect: {what}: {} on average, and {color} is expected (tolerance {})",
        written(mean),
        share.normalize()
    );
    said(words)
}

/// Decoded pixels; the first three bytes of each are red, green and blue, or its one first byte is grey.
struct Pixels {
    width: usize,
    height: usize,
    samples: usize,
    data: Vec<u8>,
}

impl Pixels {
    fn size(&self) -> Region {
        let whole = |side: usize| u32::try_from(side).unwrap_or(u32::MAX);
        Region { x: 0, y: 0, width: whole(self.width), height: whole(self.height) }
    }

    /// The sum over a region; `None` if it is not all there.
    fn sum(&self, region: Region) -> Option<Sum> {
        let (x, y) = (region.x as usize, region.y as usize);
        let (right, bottom) = (x + region.width as usize, y + region.height as usize);
        if right > self.width || bottom > self.height {
            return None;
        }
        let mut sum = Sum::default();
        for row in y..bottom {
            let from = (row * self.width + x) * self.samples;
            let to = (row * self.width + right) * self.samples;
            for pixel in self.data.get(from..to)?.chunks_exact(self.samples) {
                sum.add(match pixel {
                    [red, green, blue, ..] => [*red, *green, *blue],
                    [grey, ..] => [*grey; 3],
                    [] => continue,
                });
            }
        }
        Some(sum)
    }
}

fn decode(picture: &Picture) -> Result<Pixels, PictureError> {
    let pixels = match picture.media_type {
        "image/png" => png(&picture.bytes),
        _ => jpeg(&picture.bytes),
    };
    pixels.map_err(|error| PictureError::Broken(picture.path.clone(), error))
}

fn png(bytes: &[u8]) -> Result<Pixels, DecodeError> {
    let limits = png::Limits { bytes: 4 * MOST_PIXELS };
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), limits);
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info()?;
    let (width, height) = reader.info().size();
    is_bounded(width as usize, height as usize)?;
    let size = reader.output_buffer_size().ok_or(DecodeError::TooLarge)?;
    let mut data = vec![0; size];
    let frame = reader.next_frame(&mut data)?;
    Ok(Pixels {
        width: frame.width as usize,
        height: frame.height as usize,
        samples: frame.color_type.samples(),
        data,
    })
}

fn jpeg(bytes: &[u8]) -> Result<Pixels, DecodeError> {
    let options = DecoderOptions::default().set_strict_mode(true).jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = zune_jpeg::JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers()?;
    let (width, height) = decoder.dimensions().ok_or(DecodeError::NoSize)?;
    is_bounded(width, height)?;
    let data = decoder.decode()?;
    Ok(Pixels { width, height, samples: 3, data })
}

fn is_bounded(width: usize, height: usize) -> Result<(), DecodeError> {
    match width.checked_mul(height) {
        Some(pixels) if pixels <= MOST_PIXELS => Ok(()),
        _ => Err(DecodeError::Pixels(width, height)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rules::domain::Severity;
    use rules::mission::model::Color;

    /// Left half of one colour, right half of another.
    fn png_of(left: [u8; 3], right: [u8; 3]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, 8, 4);
        encoder.set_color(png::ColorType::Rgb);
        let mut writer = encoder.write_header().unwrap();
        let row: Vec<u8> = [left, left, left, left, right, right, right, right].concat();
        writer.write_image_data(&row.repeat(4)).unwrap();
        drop(writer);
        bytes
    }

    fn picture(bytes: &[u8]) -> Result<Picture, PictureError> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("shot.png"), bytes).unwrap();
        read_all(folder.path(), ["shot.png"].into_iter()).map(|mut found| found.remove(0))
    }

    fn expected(color: [u8; 3], region: Option<Region>) -> Expected {
        Expected { color: Some(Color(color)), region, ..Expected::default() }
    }

    fn found(bytes: &[u8], wanted: &Expected) -> Vec<String> {
        let found = violations(&picture(bytes).unwrap(), std::slice::from_ref(wanted), Points::whole(15));
        let found = found.unwrap().into_iter();
        found.map(|finding| finding.description).collect()
    }

    #[test]
    fn the_mean_colour_of_the_region_is_held_against_the_expected_one() {
        let bytes = png_of([255, 0, 0], [0, 0, 255]);
        let region = |x, width| Some(Region { x, y: 1, width, height: 2 });
        assert_eq!(found(&bytes, &expected([250, 5, 5], region(0, 4))), [""; 0]);
        let wrong = found(&bytes, &expected([250, 5, 5], region(4, 4)));
        assert!(
            wrong[0].contains("#0000ff on average, and #fa0505 is expected (tolerance 0.15)"),
            "{wrong:?}"
        );
        // Without a region it is the whole picture.
        assert_eq!(found(&bytes, &expected([128, 0, 128], None)), [""; 0]);
        let beyond = found(&bytes, &expected([0, 0, 255], region(6, 4)));
        assert!(beyond[0].contains("missing_element"), "{beyond:?}");
        let far = Region { x: u32::MAX, y: u32::MAX, width: u32::MAX, height: u32::MAX };
        assert_eq!(found(&bytes, &expected([0, 0, 255], Some(far))).len(), 1);
        let finding = violations(&picture(&bytes).unwrap(), &[expected([0; 3], None)], Points::whole(15));
        let finding = finding.unwrap().remove(0);
        assert_eq!(finding.severity, Severity::High);
        assert!(finding.evidence.is_some_and(|evidence| evidence.starts_with("shot.png: ")));
    }

    #[test]
    fn what_is_no_picture_is_at_fault_and_what_is_not_there_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        assert_eq!(read_all(root, ["gone.png"].into_iter()).unwrap(), []);
        std::fs::write(root.join("file"), "").unwrap();
        assert_eq!(read_all(root, ["file/shot.png"].into_iter()).unwrap(), []);
        // These are there, and what they show nobody can tell.
        let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, root.join(name)).unwrap();
        std::fs::create_dir(root.join("folder.png")).unwrap();
        link("/etc/hostname", "out.png");
        link("nowhere.png", "dangling.png");
        link("loop.png", "loop.png");
        std::fs::write(root.join("shot.png"), png_of([1; 3], [2; 3])).unwrap();
        for path in ["folder.png", "out.png", "dangling.png", "loop.png"] {
            let why = read_all(root, ["shot.png", path].into_iter()).unwrap_err().to_string();
            assert!(why.starts_with(&format!("{path} cannot be opened")), "{why}");
        }
        picture(b"GIF89a").unwrap_err();
        picture(&vec![0; LARGEST_FILE as usize + 1]).unwrap_err();
        let whole = png_of([1; 3], [2; 3]);
        let cut = picture(&whole[..whole.len() / 2]).unwrap();
        violations(&cut, &[expected([0; 3], None)], Points::whole(15)).unwrap_err();
    }

    #[test]
    fn a_picture_that_would_fill_the_memory_is_refused_by_its_header() {
        let mut bytes = png_of([1; 3], [2; 3]);
        bytes[16..24].copy_from_slice(&[0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff]);
        violations(&picture(&bytes).unwrap(), &[expected([0; 3], None)], Points::whole(15)).unwrap_err();
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(tail in prop::collection::vec(any::<u8>(), 0..300), jpeg: bool) {
            let head: &[u8] = if jpeg { b"\xff\xd8\xff" } else { b"\x89PNG\r\n\x1a\n" };
            let bytes = [head, &tail].concat();
            let _ = violations(&picture(&bytes).unwrap(), &[expected([0; 3], None)], Points::whole(15));
        }
    }
}
