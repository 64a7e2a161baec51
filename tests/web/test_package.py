# SPDX-License-Identifier: Apache-2.0
"""The npm package: what is in it, its types, and that it runs in node."""

import json
import re
import subprocess
import tarfile

import pytest

from conftest import ROOT

HERE = ROOT / "tests/web"


@pytest.fixture(scope="module")
def installed(tmp_path_factory, work):
    """A directory of an application that has installed the packed package."""
    directory = tmp_path_factory.mktemp("application")
    packed = subprocess.run(["npm", "pack", "--json", "--pack-destination", directory, ROOT / "web"], check=True,
                            capture_output=True, text=True)
    package = directory / "node_modules/zlink-web"
    package.mkdir(parents=True)
    with tarfile.open(directory / json.loads(packed.stdout)[0]["filename"]) as archive:
        for member in archive:
            member.name = member.name.removeprefix("package/")
            archive.extract(member, package)
    (directory / "package.json").write_text('{"type": "module"}')
    return directory


def test_package_has_what_it_needs(installed):
    package = installed / "node_modules/zlink-web"
    files = {str(path.relative_to(package)) for path in package.rglob("*") if path.is_file()}
    sources = {str(path.relative_to(ROOT / "web")) for path in (ROOT / "web/src").glob("*.js")}
    assert files == {"package.json", "README.md", "LICENSE", "index.js", "index.d.ts"} | sources
    assert (package / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_types_allow_and_refuse_what_they_should(installed, work):
    (installed / "types.ts").write_text((HERE / "types.ts").read_text())
    done = subprocess.run(
        ["node", work / "npm/node_modules/typescript/bin/tsc", "--noEmit", "--strict", "--noUncheckedIndexedAccess",
         "--target", "esnext", "--module", "nodenext", "--lib", "esnext,dom", "types.ts"],
        cwd=installed, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_types_name_what_the_module_exports(installed):
    """Each class and function of the declarations is there, and no other."""
    (installed / "exports.js").write_text("""
        import * as zmq from "zlink-web";
        console.log(JSON.stringify(Object.keys(zmq).sort()));""")
    done = subprocess.run(["node", "exports.js"], cwd=installed, check=True, capture_output=True, text=True)
    declarations = (installed / "node_modules/zlink-web/index.d.ts").read_text()
    names = re.findall(r"^export (?:abstract )?(?:class|function) (\w+)", declarations, re.MULTILINE)
    assert json.loads(done.stdout) == sorted(names)


def test_type_names_go_unharmed_through_a_bundler(installed, work):
    """A minified bundle works: nothing depends on names of classes."""
    (installed / "bundled.js").write_text("""
        import { Pull, ZmqError } from "zlink-web";
        const socket = new Pull({ WebSocket: class {} });
        const error = await socket.send("x").catch((error) => error);
        console.log(socket.type, error.name, error.code, error instanceof ZmqError);""")
    subprocess.run([work / "npm/node_modules/.bin/esbuild", "--bundle", "--minify", "--format=esm", "--log-level=error",
                    "--outfile=bundle.mjs", "bundled.js"], cwd=installed, check=True)
    done = subprocess.run(["node", "bundle.mjs"], cwd=installed, check=True, capture_output=True, text=True)
    assert done.stdout == "PULL ZmqError ENOTSUP true\n"
