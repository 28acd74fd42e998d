//! Pictures for those who look at them.

/// Eight by four pixels of one colour.
pub fn shot(color: [u8; 3]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, 8, 4);
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header().expect("a header can be written");
    writer.write_image_data(&color.repeat(32)).expect("pixels can be written");
    drop(writer);
    bytes
}
