//! The terminal that the live area is drawn on: one that never fails.
//!
//! A person may close the window while the work goes on. The library that draws takes every error for granted not to
//! happen and would end the process, so it hears of none: that nobody looks any more does not stop the work.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;

use indicatif::{ProgressDrawTarget, TermLike};

/// Redraws a second, at most.
const REFRESH_HZ: u8 = 20;
/// Lines and columns of a terminal that does not tell its size, as the library assumes them.
const USUAL_SIZE: (u16, u16) = (24, 80);

/// Where to draw for people who look at standard error.
pub fn target() -> ProgressDrawTarget {
    // Escape codes in a file are of no use to anybody.
    let dumb = std::env::var("TERM").map_or(true, |term| term == "dumb");
    if dumb || !io::stderr().is_terminal() {
        return ProgressDrawTarget::hidden();
    }
    ProgressDrawTarget::term_like_with_hz(Box::new(Terminal::default()), REFRESH_HZ)
}

/// Standard error. What is drawn is gathered, so that nobody sees half of it.
#[derive(Debug, Default)]
struct Terminal(Mutex<String>);

impl Terminal {
    fn draw(&self, draw: impl FnOnce(&mut String)) -> io::Result<()> {
        // What another thread left when it panicked is drawn text, and as good as any.
        draw(&mut self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
        Ok(())
    }

    fn move_cursor(&self, n: usize, direction: char) -> io::Result<()> {
        self.draw(|text| {
            if n > 0 {
                // A string takes everything.
                let _ = write!(text, "\x1b[{n}{direction}");
            }
        })
    }
}

fn size() -> (u16, u16) {
    let size = rustix::termios::tcgetwinsize(io::stderr());
    let size = size.map_or(USUAL_SIZE, |size| (size.ws_row, size.ws_col));
    if size.0 == 0 || size.1 == 0 { USUAL_SIZE } else { size }
}

impl TermLike for Terminal {
    fn width(&self) -> u16 {
        size().1
    }

    fn height(&self) -> u16 {
        size().0
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'A')
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'B')
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'C')
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'D')
    }

    fn write_line(&self, line: &str) -> io::Result<()> {
        self.draw(|text| {
            text.push_str(line);
            text.push('\n');
        })
    }

    fn write_str(&self, part: &str) -> io::Result<()> {
        self.draw(|text| text.push_str(part))
    }

    fn clear_line(&self) -> io::Result<()> {
        self.draw(|text| text.push_str("\r\x1b[2K"))
    }

    fn flush(&self) -> io::Result<()> {
        self.draw(|text| {
            if text.is_empty() {
                return;
            }
            // The library fills the last line to the edge. There the `^C` that the terminal shows would begin a new line,
            // and the next drawing would leave the first one of this behind.
            text.truncate(text.trim_end_matches(' ').len());
            text.push('\r');
            let mut out = io::stderr().lock();
            let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
            text.clear();
        })
    }
}
