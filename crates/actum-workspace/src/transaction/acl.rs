//! Inheritance of access permissions from the default ACL of a directory (acl(5)).
//!
//! New files are created in the stage directory, so the kernel does not apply the default ACL of their final directory.

use actum_core::FileMode;

const USER_OBJECT: u16 = 0x01;
const GROUP_OBJECT: u16 = 0x04;
const MASK: u16 = 0x10;
const OTHER: u16 = 0x20;
const HEAD: usize = 4;
const ENTRY: usize = 8;

/// Returns the access ACL and the mode of a file that is created with the mode `asked` under the default ACL `default`.
/// The ACL is `None` if the mode alone expresses it. Both ACLs use the format of the extended attribute: a version,
/// followed by entries with tag, permissions and id.
pub(crate) fn inherit(default: &[u8], asked: FileMode) -> (Option<Vec<u8>>, FileMode) {
    let mut acl = default.to_vec();
    let has_mask = entries(default).any(|(tag, _)| tag == MASK);
    let mut mode = asked.bits() & !0o777;
    for entry in acl.get_mut(HEAD..).unwrap_or_default().as_chunks_mut::<ENTRY>().0 {
        let [tag_low, tag_high, low, high, ..] = entry;
        let shift = match u16::from_le_bytes([*tag_low, *tag_high]) {
            USER_OBJECT => 6,
            MASK => 3,
            GROUP_OBJECT if !has_mask => 3,
            OTHER => 0,
            _ => continue,
        };
        let wanted = u16::try_from((asked.bits() >> shift) & 7).unwrap_or(0);
        let granted = u16::from_le_bytes([*low, *high]) & wanted;
        [*low, *high] = granted.to_le_bytes();
        mode |= u32::from(granted) << shift;
    }
    let minimal = entries(&acl).count() <= 3;
    ((!minimal).then_some(acl), FileMode::new(mode))
}

fn entries(acl: &[u8]) -> impl Iterator<Item = (u16, u16)> {
    acl.get(HEAD..).unwrap_or_default().as_chunks::<ENTRY>().0.iter().map(|entry| {
        let [t0, t1, p0, p1, ..] = *entry;
        (u16::from_le_bytes([t0, t1]), u16::from_le_bytes([p0, p1]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acl(entries: &[(u16, u16)]) -> Vec<u8> {
        let mut bytes = vec![2, 0, 0, 0];
        for (tag, permissions) in entries {
            bytes.extend_from_slice(&tag.to_le_bytes());
            bytes.extend_from_slice(&permissions.to_le_bytes());
            bytes.extend_from_slice(&7u32.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn a_minimal_default_acl_becomes_the_mode() {
        let default = acl(&[(USER_OBJECT, 7), (GROUP_OBJECT, 5), (OTHER, 0)]);
        assert_eq!(inherit(&default, FileMode::new(0o666)), (None, FileMode::new(0o640)));
    }

    #[test]
    fn acl_mask_limits_the_group_and_named_users_are_kept() {
        let default = acl(&[(USER_OBJECT, 7), (0x02, 7), (GROUP_OBJECT, 5), (MASK, 7), (OTHER, 1)]);
        let expected =
            acl(&[(USER_OBJECT, 6), (0x02, 7), (GROUP_OBJECT, 5), (MASK, 6), (OTHER, 0)]);
        let (inherited, mode) = inherit(&default, FileMode::new(0o666));
        assert_eq!(inherited, Some(expected));
        assert_eq!(mode, FileMode::new(0o660));
    }
}
