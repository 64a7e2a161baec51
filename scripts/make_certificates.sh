#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes a certificate authority for development, and certificates of a server and a client that it
# has signed, all valid for 30 days. Needs `openssl`.
#
#   scripts/make_certificates.sh DIRECTORY [HOST]...
#
# DIRECTORY  is made; it must not exist yet
# HOST       a name or an address of the server; localhost, 127.0.0.1 and ::1 unless told
#
# Makes ca.pem (which is to be trusted), ca.key, server.pem, server.key, client.pem and client.key.
set -euo pipefail
die() { echo "make_certificates.sh: $*" >&2; exit 1; }

[[ $# -gt 0 && $1 != -h && $1 != --help ]] || { sed -n '4,12s/^# \{0,1\}//p' "$0"; exit 0; }
command -v openssl >/dev/null || die "openssl is not installed (Debian: apt-get install openssl)"
directory=$1
shift
hosts=("$@")
((${#hosts[@]})) || hosts=(localhost 127.0.0.1 ::1)
[[ ! -e $directory ]] || die "$directory exists already"
umask 077 # the keys are for nobody else
mkdir -p "$directory"
cd "$directory"

names=""
for host in "${hosts[@]}"; do
    kind=DNS
    if [[ $host == *:* || $host =~ ^[0-9.]+$ ]]; then kind=IP; fi
    names+="${names:+,}$kind:$host"
done

# new_key NAME
new_key() { openssl genpkey -quiet -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1.key" 2>/dev/null ||
    openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1.key"; }

# signed NAME COMMON_NAME EXTENSION...
signed() {
    local name=$1 common_name=$2
    shift 2
    new_key "$name"
    openssl req -new -key "$name.key" -subj "/CN=$common_name" -out "$name.csr"
    openssl x509 -req -in "$name.csr" -CA ca.pem -CAkey ca.key -days 30 -sha256 -out "$name.pem" \
        -set_serial "0x$(openssl rand -hex 16)" \
        -extfile <(printf '%s\n' "basicConstraints=critical,CA:FALSE" "keyUsage=critical,digitalSignature" "$@") \
        2>/dev/null
    rm "$name.csr"
}

new_key ca
openssl req -x509 -new -key ca.key -subj "/CN=development authority" -days 30 -sha256 -out ca.pem \
    -addext "basicConstraints=critical,CA:TRUE" -addext "keyUsage=critical,keyCertSign,cRLSign"
signed server "${hosts[0]}" "extendedKeyUsage=serverAuth" "subjectAltName=$names"
signed client client "extendedKeyUsage=clientAuth"
chmod 644 ./*.pem
