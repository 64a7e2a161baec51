// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// Certificates and keys that were made for the fuzz targets and are used for nothing else. They
/// are valid from 2000 to 2100, apart from `expired`. make_corpus.py reads them from here.
namespace zlink::fuzz::tls_material {

/// Of the authority; Ed25519.
inline constexpr std::string_view ca =
    "-----BEGIN CERTIFICATE-----\n"
    "MIH3MIGqoAMCAQICAQQwBQYDK2VwMBIxEDAOBgNVBAMMB3Rlc3QgY2EwIBcNMDAw\n"
    "MTAxMDAwMDAwWhgPMjEwMDAxMDEwMDAwMDBaMBIxEDAOBgNVBAMMB3Rlc3QgY2Ew\n"
    "KjAFBgMrZXADIQBZu2HjLeSvo2ZRd7MxFqHqaylFxvYnmZzEtNog4kgLi6MjMCEw\n"
    "DwYDVR0TAQH/BAUwAwEB/zAOBgNVHQ8BAf8EBAMCAgQwBQYDK2VwA0EA65IYbiCx\n"
    "XzrD/4Z3IdoANMfFFm+VcUA4k1uiurc1wH8i8+DXM2orNxy0IEYNHso7wbXi4ow8\n"
    "h26agO4P2ETxCA==\n"
    "-----END CERTIFICATE-----\n";
/// Of an authority that `ca` has signed; its key is not kept.
inline constexpr std::string_view middle =
    "-----BEGIN CERTIFICATE-----\n"
    "MIH7MIGuoAMCAQICAQEwBQYDK2VwMBIxEDAOBgNVBAMMB3Rlc3QgY2EwIBcNMDAw\n"
    "MTAxMDAwMDAwWhgPMjEwMDAxMDEwMDAwMDBaMBYxFDASBgNVBAMMC3Rlc3QgbWlk\n"
    "ZGxlMCowBQYDK2VwAyEAhhW18pHCdquL663F/hor/SIN10GApRtFHKhxVqADQ1Oj\n"
    "IzAhMA8GA1UdEwEB/wQFMAMBAf8wDgYDVR0PAQH/BAQDAgIEMAUGAytlcANBAC66\n"
    "fa0+x+dqEpO/SKoi2NQCvLTFoV7RiMJixYb7MPaRzXIN4KdsvpfW1HKAUvD2NpU6\n"
    "WTygOlfmhaeciDRPMAA=\n"
    "-----END CERTIFICATE-----\n";
/// Of host.test and 192.0.2.1, signed by `middle`; P-256.
inline constexpr std::string_view server =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBOTCB7KADAgECAgEBMAUGAytlcDAWMRQwEgYDVQQDDAt0ZXN0IG1pZGRsZTAg\n"
    "Fw0wMDAxMDEwMDAwMDBaGA8yMTAwMDEwMTAwMDAwMFowETEPMA0GA1UEAwwGc2Vy\n"
    "dmVyMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEi7H824VK9Kp6zNyK8PWUViuY\n"
    "eikicLDzQclDnU0jxJBAD3ewK5PEip3ttP/IF6rqxNe9B4E3cyiVSjtuT9IsU6Mz\n"
    "MDEwEwYDVR0lBAwwCgYIKwYBBQUHAwEwGgYDVR0RBBMwEYIJaG9zdC50ZXN0hwTA\n"
    "AAIBMAUGAytlcANBADgM26+uWFb5yUwb5Agjqmbbn0DNjoNkZV//dSZ4SNXFPzN1\n"
    "8Bx25ujMTDgXqiCsdDjcGHStAkfnUu9irWc9UwQ=\n"
    "-----END CERTIFICATE-----\n";
inline constexpr std::string_view server_key =
    "-----BEGIN PRIVATE KEY-----\n"
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgeDzyUX4nnjsW6aFj\n"
    "EBEc5SXvQeyBcXe2ddSWpNDvYa2hRANCAASLsfzbhUr0qnrM3Irw9ZRWK5h6KSJw\n"
    "sPNByUOdTSPEkEAPd7Ark8SKne20/8gXqurE170HgTdzKJVKO25P0ixT\n"
    "-----END PRIVATE KEY-----\n";
/// The same key in the format before PKCS #8, with the password "secret".
inline constexpr std::string_view server_key_old =
    "-----BEGIN EC PRIVATE KEY-----\n"
    "Proc-Type: 4,ENCRYPTED\n"
    "DEK-Info: AES-128-CBC,CE988AA0C407F1A2BF16E447B6163A4C\n"
    "\n"
    "U5PuHuhd2H9Q944fXe5cSbxxeAXdUOkMApEriK7SWXubYh+EhcqJM/HfFLL3H+jb\n"
    "T+uNBDR3cB+M+opPlLt9ATIfY0E2DXBKsGZwdHH9j9yCasj4itiz5NJXue3wvrvN\n"
    "GmiILs71DzTmiFGob2HAspmcNmCNKQoHx9JnYvfLplI=\n"
    "-----END EC PRIVATE KEY-----\n";
/// The same key in PKCS #8, with the password "secret" and one iteration.
inline constexpr std::string_view server_key_locked =
    "-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
    "MIHrMFYGCSqGSIb3DQEFDTBJMCgGCSqGSIb3DQEFDDAbBAhvGih22e0b3QIBATAM\n"
    "BggqhkiG9w0CCQUAMB0GCWCGSAFlAwQBAgQQOwWi8buFj8wekpQ0SeDszwSBkGSX\n"
    "+sAlJGRPtOOcD6uzJeyqy7j05LfyxjQ1C4tlOTcG6MrAz/zbeAWPDNeDFW//fgQw\n"
    "8cwXrtXvoeN+ynRRRcZmCxv8ysLZQZyIqnkdEmawAuqox1+442JgTBqnaRvdo6o2\n"
    "+hgesQ+x6P8ZFCnsropiH1rQ66gqHfuFpnHEFQuW3pPqFIdJvSxFBwWhCe+vPg==\n"
    "-----END ENCRYPTED PRIVATE KEY-----\n";
/// Of a client, signed by `ca`; Ed25519.
inline constexpr std::string_view client =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBBzCBuqADAgECAgEFMAUGAytlcDASMRAwDgYDVQQDDAd0ZXN0IGNhMCAXDTAw\n"
    "MDEwMTAwMDAwMFoYDzIxMDAwMTAxMDAwMDAwWjARMQ8wDQYDVQQDDAZjbGllbnQw\n"
    "KjAFBgMrZXADIQBncLXbOqdG5/MNQbbvkzHMM7PsK0Ue0Yfi7h5uwZguFqM0MDIw\n"
    "EwYDVR0lBAwwCgYIKwYBBQUHAwIwGwYDVR0RBBQwEoEIYUBiLnRlc3SGBnRlc3Q6\n"
    "eDAFBgMrZXADQQB+D/N1IrvyKeifNCYK+PzYAdkqjeZM9V+5hirJmoch7Vwl6lqF\n"
    "AcPKatcQfxCME72O5O1S5az5fLW3JwfI8I8H\n"
    "-----END CERTIFICATE-----\n";
inline constexpr std::string_view client_key =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VwBCIEIA1PFh519Sr6IyjX9JvCZ5kS+1gENssMfq8qXbgkliUR\n"
    "-----END PRIVATE KEY-----\n";
/// As `server`, signed by `ca`, valid in the year 2000 only; Ed25519.
inline constexpr std::string_view expired =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBBDCBt6ADAgECAgEGMAUGAytlcDASMRAwDgYDVQQDDAd0ZXN0IGNhMB4XDTAw\n"
    "MDEwMTAwMDAwMFoXDTAxMDEwMTAwMDAwMFowETEPMA0GA1UEAwwGc2VydmVyMCow\n"
    "BQYDK2VwAyEAWrGADveFPLl198dvIaLvxSwwuCfV4nx82YhqI54VdzmjMzAxMBMG\n"
    "A1UdJQQMMAoGCCsGAQUFBwMBMBoGA1UdEQQTMBGCCWhvc3QudGVzdIcEwAACATAF\n"
    "BgMrZXADQQB8V4eYigdhsZQBVCIBcEwg3PCD3lS3xcxJeEvOgHr3rvM6zhnLnKH4\n"
    "vVohWNhDSXfY3SvzZtud3541ZXmxuGgN\n"
    "-----END CERTIFICATE-----\n";
inline constexpr std::string_view expired_key =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VwBCIEIE17HQsw9d5CBHdAYPnAlQImPELDxemIr9fpOzQgygPl\n"
    "-----END PRIVATE KEY-----\n";
/// As `server`, signed by itself; P-256.
inline constexpr std::string_view stranger =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBSDCB8KADAgECAgEHMAoGCCqGSM49BAMCMBMxETAPBgNVBAMMCHN0cmFuZ2Vy\n"
    "MCAXDTAwMDEwMTAwMDAwMFoYDzIxMDAwMTAxMDAwMDAwWjATMREwDwYDVQQDDAhz\n"
    "dHJhbmdlcjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABDYZgJrk5sqnTVTgxTGg\n"
    "slEtp/agvGz/E59fYIF0kkoYreMSasxBfp12huzIqKBsczZ4wd3TfiaI2r27JvCp\n"
    "aYCjMzAxMBMGA1UdJQQMMAoGCCsGAQUFBwMBMBoGA1UdEQQTMBGCCWhvc3QudGVz\n"
    "dIcEwAACATAKBggqhkjOPQQDAgNHADBEAiATc7XKYfNhH07mQxqJqiz4QXpKoAfp\n"
    "Siad4I8hQDIt8wIge88PNX7lrjnNuuDH9uTQcGPzlmC9MuuBa6QNBvEkRGw=\n"
    "-----END CERTIFICATE-----\n";
inline constexpr std::string_view stranger_key =
    "-----BEGIN PRIVATE KEY-----\n"
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgeE1Z8lo1kdfM1DsU\n"
    "Hk49k5Bz5uRfMBqMfDU/XoK7L+OhRANCAAQ2GYCa5ObKp01U4MUxoLJRLaf2oLxs\n"
    "/xOfX2CBdJJKGK3jEmrMQX6ddobsyKigbHM2eMHd034miNq9uybwqWmA\n"
    "-----END PRIVATE KEY-----\n";
/// SHA-256 of the public keys of `server` and `client`.
inline constexpr std::string_view server_pin =
    "23d32950469398d39c555efc28fec50035e6bfcba5805fffe499bdda04e278a6";
inline constexpr std::string_view client_pin =
    "e3672907559cc900cdae01ca794c703002c11f644af2afcb045e9e31dc7e4f7c";

} // namespace zlink::fuzz::tls_material
