# SPDX-License-Identifier: MIT
"""The recipe of the tree it lies in: conan create packaging/conan"""
import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy, load
from conan.tools.layout import basic_layout

required_conan_version = ">=2.0"


class SublockConan(ConanFile):
    name = "sublock"
    description = "A distributed lock that is a live Redis subscription"
    license = "MIT"
    topics = ("redis", "lock", "mutex", "distributed", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"hiredis": [True, False], "tls": [True, False]}
    default_options = {"hiredis": True, "tls": False, "boost/*:header_only": True}
    no_copy_source = True

    @property
    def _top(self):
        return os.path.join(self.recipe_folder, os.pardir, os.pardir)

    def set_version(self):
        header = load(self, os.path.join(self._top, "include", "sublock", "version.hpp"))
        numbers = [re.search(rf"SUBLOCK_VERSION_{part} (\d+)", header)[1] for part in ("MAJOR", "MINOR", "PATCH")]
        self.version = ".".join(numbers)

    def export_sources(self):
        copy(self, "include/*", src=self._top, dst=self.export_sources_folder)
        copy(self, "LICENSE", src=self._top, dst=self.export_sources_folder)

    def layout(self):
        basic_layout(self)

    def requirements(self):
        self.requires("boost/[>=1.74 <2]")
        self.requires("nlohmann_json/[>=3.10 <4]")
        if self.options.hiredis or self.options.tls:
            self.requires("hiredis/[>=1.0 <2]")
        if self.options.tls:
            self.requires("openssl/[>=1.1.1 <4]")

    def package_id(self):
        self.info.settings.clear()

    def validate(self):
        check_min_cppstd(self, 20)

    def package(self):
        copy(self, "include/*", src=self.source_folder, dst=self.package_folder)
        copy(self, "LICENSE", src=self.source_folder, dst=os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        """The same targets and modules as in every other package, one upon the other."""
        self._part("sublock", ["boost::headers", "nlohmann_json::nlohmann_json"])
        if self.options.hiredis or self.options.tls:
            part = self._part("hiredis", ["sublock", "hiredis::hiredis"], "sublock-hiredis")
            part.system_libs = ["pthread"] if self.settings.os in ("Linux", "FreeBSD") else []
        if self.options.tls:
            self._part("tls", ["hiredis", "openssl::ssl"], "sublock-tls")

    def _part(self, name, requires, module="sublock"):
        part = self.cpp_info.components[name]
        part.set_property("cmake_target_name", f"sublock::{name}")
        part.set_property("pkg_config_name", module)
        part.requires = requires
        part.bindirs = part.libdirs = []
        return part
