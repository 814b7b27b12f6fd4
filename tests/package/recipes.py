#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The port for vcpkg and the recipe for Conan, on a machine that has neither.

    recipes.py TOP VERSION FOLDER

The port's manifest is held against the format, its portfile runs with stand-ins for vcpkg's functions, and a project
finds what it has installed. The recipe's methods run on stand-ins for Conan's classes. That is less than a run of the
real tools: what those would think of the names of other people's packages, nobody is asked here.
"""
import importlib.util
import json
import pathlib
import re
import shutil
import subprocess
import sys
import types


def must(condition, sentence):
    if not condition:
        sys.exit(f"FAILED: {sentence}")


def run(*command):
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    must(ran.returncode == 0, f"{' '.join(map(str, command))}\n{ran.stdout}")
    return ran.stdout


# --- vcpkg ---------------------------------------------------------------------------------------------

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
MANIFEST = {"name", "version", "description", "license", "supports", "dependencies", "default-features", "features"}
DEPENDENCY = {"name", "host", "features", "default-features", "version>=", "platform"}


def check_dependency(dependency, features):
    name = dependency if isinstance(dependency, str) else dependency["name"]
    must(NAME.fullmatch(name), f"'{name}' is no name of a port")
    if isinstance(dependency, dict):
        must(dependency.keys() <= DEPENDENCY, f"a dependency has no {dependency.keys() - DEPENDENCY}")
        if name == "sublock":
            must(set(dependency["features"]) <= features.keys(), "a feature needs one that is not there")


def check_manifest(manifest, version):
    must(manifest.keys() <= MANIFEST, f"a manifest has no {manifest.keys() - MANIFEST}")
    must(manifest["name"] == "sublock", "the port has another name")
    must(manifest["version"] == version, f"the port is of {manifest['version']}, not {version}")
    features = manifest["features"]
    must(set(manifest["default-features"]) <= features.keys(), "a default feature is not there")
    for dependency in manifest["dependencies"]:
        check_dependency(dependency, features)
    for name, feature in features.items():
        must(NAME.fullmatch(name), f"'{name}' is no name of a feature")
        must(feature.keys() == {"description", "dependencies"}, f"feature {name}: description and dependencies, no more")
        for dependency in feature["dependencies"]:
            check_dependency(dependency, features)


CONSUMER = """cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(sublock CONFIG REQUIRED OPTIONAL_COMPONENTS hiredis)
get_target_property(folders sublock::sublock INTERFACE_INCLUDE_DIRECTORIES)
message(STATUS "folders ${folders}")
"""


def check_vcpkg(top, version, folder):
    port = top / "packaging/vcpkg"
    check_manifest(json.loads((port / "vcpkg.json").read_text()), version)
    stub = pathlib.Path(__file__).with_name("vcpkg_stub.cmake")
    run("cmake", f"-DPORT_DIR={port}", f"-DWORK={folder}", "-P", stub)
    installed = folder / "packages"
    for name in ("include/sublock/redis_lock.hpp", "share/sublock/sublock-config.cmake", "share/sublock/copyright",
                 "share/sublock/usage", "share/pkgconfig/sublock.pc"):
        must((installed / name).exists(), f"the port does not install {name}")
    for name in ("debug", "share/doc", "share/cmake", "bin"):
        must(not (installed / name).exists(), f"the port leaves {name}, which vcpkg does not want")
    consumer = folder / "consumer"
    consumer.mkdir()
    (consumer / "CMakeLists.txt").write_text(CONSUMER)
    told = run("cmake", "-S", consumer, "-B", consumer / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={installed}")
    must(re.search(f"folders .*{installed}/include", told), f"a project does not find the port's headers:\n{told}")


# --- Conan ---------------------------------------------------------------------------------------------


class Part:
    def __init__(self):
        self.properties = {}

    def set_property(self, name, value):
        self.properties[name] = value


class Parts(dict):
    def __missing__(self, name):
        self[name] = Part()
        return self[name]


def copy(recipe, pattern, src, dst):
    found = [path for path in pathlib.Path(src).resolve().glob(pattern.replace("/*", "/**/*")) if path.is_file()]
    must(found, f"the recipe copies {pattern}, and there is nothing")
    for path in found:
        target = pathlib.Path(dst) / path.relative_to(pathlib.Path(src).resolve())
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)


def conan_stand_ins():
    def module(name, **members):
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(members)

    module("conan", ConanFile=type("ConanFile", (), {}))
    module("conan.tools")
    module("conan.tools.build", check_min_cppstd=lambda recipe, standard: must(standard == 20, "it is C++20"))
    module("conan.tools.files", copy=copy, load=lambda recipe, path: pathlib.Path(path).read_text())
    module("conan.tools.layout", basic_layout=lambda recipe: None)


def read_recipe(path):
    spec = importlib.util.spec_from_file_location("recipe", path)
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    spec.loader.exec_module(module)
    return module.SublockConan


def check_conan(top, version, folder):
    conan_stand_ins()
    Recipe = read_recipe(top / "packaging/conan/conanfile.py")
    for options, parts in (({"hiredis": True, "tls": False}, {"sublock", "hiredis"}),
                           ({"hiredis": False, "tls": False}, {"sublock"}),
                           ({"hiredis": False, "tls": True}, {"sublock", "hiredis", "tls"})):
        recipe = Recipe()
        recipe.recipe_folder = str(top / "packaging/conan")
        recipe.export_sources_folder = recipe.source_folder = str(folder / "source")
        recipe.package_folder = str(folder / "package")
        recipe.options = types.SimpleNamespace(**options)
        must(options.keys() <= recipe.default_options.keys(), "an option has no default")
        recipe.settings = types.SimpleNamespace(os="Linux")
        recipe.cpp_info = types.SimpleNamespace(components=Parts())
        required = []
        recipe.requires = required.append

        recipe.set_version()
        must(recipe.version == version, f"the recipe is of {recipe.version}, not {version}")
        recipe.export_sources()
        recipe.requirements()
        recipe.validate()
        recipe.package()
        recipe.package_info()

        components = recipe.cpp_info.components
        must(components.keys() == parts, f"with {options} there are {components.keys()}")
        packages = {name.split("/")[0] for name in required}
        for name, part in components.items():
            must(part.properties["cmake_target_name"] == f"sublock::{name}", f"{name} is no target of ours")
            for other in part.requires:
                package, _, component = other.partition("::")
                must(package in packages if component else other in components, f"{name} needs {other}, which nobody brings")
        for package in packages:
            must(any(other.startswith(package + "::") for part in components.values() for other in part.requires),
                 f"{package} is required, and nothing needs it")
    for name in ("include/sublock/transport/hiredis/hub.hpp", "licenses/LICENSE"):
        must((folder / "package" / name).exists(), f"the recipe does not package {name}")


def main(top, version, folder):
    top, folder = pathlib.Path(top), pathlib.Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    for check in (check_vcpkg, check_conan):
        place = folder / check.__name__
        place.mkdir(parents=True)
        check(top, version, place)
        print(f"{check.__name__}: ok")


if __name__ == "__main__":
    main(*sys.argv[1:])
