//! Which addresses are somebody's own network, not the internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address is public: one that a stranger's plugin may be sent to by a name alone. All others (this machine, the local
/// network, the services of a cloud that hand out credentials) are reached only if the grant says so.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

/// Whether nobody can be there: no grant makes a connection to it.
pub fn is_nobody(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_unspecified() || v4.is_multicast() || v4.is_broadcast(),
        IpAddr::V6(v6) => match embedded_v4(v6) {
            Some(v4) => is_nobody(IpAddr::V4(v4)),
            None => v6.is_unspecified() || v6.is_multicast(),
        },
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let reserved = a == 0 // this network
        || a == 10
        || a == 127
        || (a == 100 && (64..128).contains(&b)) // shared by carriers
        || (a == 169 && b == 254) // link-local, and the metadata of clouds
        || (a == 172 && (16..32).contains(&b))
        || (a == 192 && b == 168)
        || (a == 192 && b == 0 && (c == 0 || c == 2)) // protocols, documentation
        || (a == 192 && b == 88 && c == 99) // relays from IPv6
        || (a == 198 && (b == 18 || b == 19)) // benchmarks
        || (a == 198 && b == 51 && c == 100)
        || (a == 203 && b == 0 && c == 113)
        || a >= 224; // multicast, reserved, broadcast
    !reserved
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(v4) = embedded_v4(address) {
        return is_public_v4(v4);
    }
    let [first, second, ..] = address.segments();
    // Only 2000::/3 is given out at all; in it, these are not the internet.
    let global = first & 0xe000 == 0x2000;
    let documentation = (first == 0x2001 && second == 0x0db8) || (first == 0x3fff && second < 0x1000);
    let protocols = first == 0x2001 && second < 0x0200; // Teredo, benchmarks, ORCHID
    global && !documentation && !protocols
}

/// The IPv4 address that an IPv6 address stands for: mapped, compatible, translated (NAT64, RFC 6052 and 8215) or 6to4. A packet to
/// it ends at that address, so it counts as that one.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let segments = address.segments();
    let tail = |high: u16, low: u16| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    match segments {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] => Some(tail(high, low)),
        [0, 0, 0, 0, 0xffff, 0, high, low] => Some(tail(high, low)),
        [0x0064, 0xff9b, 0, 0, 0, 0, high, low] => Some(tail(high, low)),
        [0x0064, 0xff9b, 1, _, _, _, high, low] => Some(tail(high, low)),
        [0x2002, high, low, ..] => Some(tail(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_the_internet_is_not_public() {
        for private in [
            "127.0.0.1",
            "127.8.8.8",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "0.1.2.3",
            "224.0.0.1",
            "255.255.255.255",
            "192.0.2.1",
            "198.18.0.1",
            "240.0.0.1",
            "::",
            "::1",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:a9fe:a9fe",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::a00:1",
            "2002:7f00:1::",
            "2002:a00:1::1",
            "::ffff:0:127.0.0.1",
            "2001:db8::1",
            "2001::1",
            "3fff::1",
            "4000::1",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
        for public in [
            "1.1.1.1",
            "8.8.8.8",
            "172.32.0.1",
            "100.128.0.1",
            "2606:4700::1111",
            "2a00:1450::1",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::1",
        ] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
    }

    #[test]
    fn nobody_is_anywhere_that_is_everywhere() {
        for address in ["0.0.0.0", "::", "224.0.0.1", "255.255.255.255", "ff02::1", "::ffff:0.0.0.0", "::ffff:224.0.0.1"] {
            assert!(is_nobody(address.parse().unwrap()), "{address}");
        }
        for address in ["127.0.0.1", "::1", "10.0.0.1", "8.8.8.8"] {
            assert!(!is_nobody(address.parse().unwrap()), "{address}");
        }
    }
}
