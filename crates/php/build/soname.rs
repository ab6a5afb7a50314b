//! Gives a shared library another name for the link editor.
//!
//! Every PHP library calls itself `libphp.so`, which is what a program that is linked with it asks the loader for: with
//! two versions on a system it gets either. Debian's files have the version in their names. A copy that calls itself by
//! that name is enough to link with; it is never loaded.

/// Places in the head of the file, section headers, the dynamic section and its entries (64 bits, little-endian;
/// elf(5)).
const SECTION_HEADERS: usize = 40;
const SECTION_HEADER_SIZE: usize = 58;
const N_SECTIONS: usize = 60;
const SECTION_TYPE: usize = 4;
const SECTION_OFFSET: usize = 24;
const SECTION_SIZE: usize = 32;
const SECTION_LINK: usize = 40;
const SHT_DYNAMIC: u32 = 6;
const DYNAMIC_ENTRY: usize = 16;
const DT_SONAME: u64 = 14;

/// `library` with `name` as its DT_SONAME. `None`: it has none, or is not an ELF file of this form.
pub(crate) fn renamed(mut library: Vec<u8>, name: &str) -> Option<Vec<u8>> {
    if !library.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let first = long(&library, SECTION_HEADERS)?;
    let size = usize::from(short(&library, SECTION_HEADER_SIZE)?);
    let header = |idx: usize| first + idx * size;
    let n_sections = usize::from(short(&library, N_SECTIONS)?);
    let dynamic =
        (0..n_sections).map(header).find(|at| word(&library, at + SECTION_TYPE) == Some(SHT_DYNAMIC))?;
    let soname = entry_of_soname(&library, dynamic)?;
    let strings = header(usize::try_from(word(&library, dynamic + SECTION_LINK)?).ok()?);
    let (offset, len) = place(&library, strings)?;
    // The strings grow, so they move to the end of the file.
    let mut moved = library.get(offset..offset + len)?.to_vec();
    moved.extend_from_slice(name.as_bytes());
    moved.push(0);
    let end = library.len();
    set(&mut library, strings + SECTION_OFFSET, end)?;
    set(&mut library, strings + SECTION_SIZE, moved.len())?;
    set(&mut library, soname + 8, len)?;
    library.extend(moved);
    Some(library)
}

fn entry_of_soname(library: &[u8], dynamic: usize) -> Option<usize> {
    let (offset, len) = place(library, dynamic)?;
    (offset..offset + len)
        .step_by(DYNAMIC_ENTRY)
        .find(|at| long(library, *at) == usize::try_from(DT_SONAME).ok())
}

/// Where the contents of a section are in the file.
fn place(library: &[u8], header: usize) -> Option<(usize, usize)> {
    Some((long(library, header + SECTION_OFFSET)?, long(library, header + SECTION_SIZE)?))
}

fn bytes<const N: usize>(library: &[u8], at: usize) -> Option<[u8; N]> {
    library.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn short(library: &[u8], at: usize) -> Option<u16> {
    bytes(library, at).map(u16::from_le_bytes)
}

fn word(library: &[u8], at: usize) -> Option<u32> {
    bytes(library, at).map(u32::from_le_bytes)
}

fn long(library: &[u8], at: usize) -> Option<usize> {
    bytes(library, at).map(u64::from_le_bytes)?.try_into().ok()
}

fn set(library: &mut [u8], at: usize, value: usize) -> Option<()> {
    library.get_mut(at..at + 8)?.copy_from_slice(&u64::try_from(value).ok()?.to_le_bytes());
    Some(())
}
