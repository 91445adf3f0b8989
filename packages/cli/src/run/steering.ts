// Variables that steer programs: which code runs, where traffic goes, which files are read. Invariant: svc run sets none of them from a secret
// that nobody expects. The patterns err on the side of leaving out, and still cannot name every such variable: `svc run --listed` can.

const words = (text: string) => text.trim().split(/\s+/);

/**
 * Set only with --allow-reserved, whatever `.svc.json` lists: the loader runs code in every program, and SVC_ variables tell svc itself where
 * its credentials go.
 */
const RESERVED = words('LD_* DYLD_* SVC_*');

/** Patterns: of processes and shells, of programs that read their options from variables, of interpreters, build tools and networks. */
const STEERING = words(`
  *PATH *PATHS PATHEXT PATH_* HOME *_HOME USER LOGNAME *SHELL PWD OLDPWD TERM TERMCAP TERMINFO* TMPDIR TMP TEMP TZDIR
  *EDITOR VISUAL *PAGER *BROWSER *_ASKPASS *OPT *OPTS *_OPTION *OPTIONS *_ARGS *_PRELOAD *_WRAPPER *_RCFILE *RC *_CONFIG_FILE
  *_PLUGIN *_PLUGINS *_STARTUP *_BIN *_BINARY *_EXECUTABLE *COMMAND *_CMD *_EXEC *_RSH *_MODULE_FILE *_LOADER *_ENGINE_LIBRARY *_SETTINGS_MODULE *_REGISTRY *_INDEX_URL *_MIRROR
  FLASK_APP COREPACK_* NVM_* FZF_* HOMEBREW_*
  IFS ENV GLOBIGNORE SHELLOPTS BASHOPTS BASH_* ZSH_* ZDOTDIR PS0 PS1 PS2 PS3 PS4 PROMPT_COMMAND UID EUID PPID FIGNORE HISTFILE
  SYSTEMROOT WINDIR COMSPEC APPDATA LOCALAPPDATA USERPROFILE PROGRAMFILES PROGRAMDATA XDG_*
  HOSTALIASES LOCALDOMAIN MALLOC_* GLIBC_* GETCONF_DIR RESOLV_* NSS_* DISPLAY XAUTHORITY DBUS_* SYSTEMD_*
  NODE_* NPM_CONFIG_* YARN_* PNPM_* BUN_* DENO_* TSX_* TS_NODE_* ESBUILD_* ELECTRON_*
  PYTHON* PIP_* PIPENV_* POETRY_* UV_* VIRTUAL_ENV CONDA_* PYENV_*
  RUBY* GEM_* BUNDLE_* RAILS_* RACK_* PERL* PHP_* PHPRC LUA_* ERL_* ELIXIR_* MIX_* HEX_* R_* COMPOSER*
  JUPYTER_* IPYTHON* OCAML* CABAL_* STACK_*
  JAVA_* _JAVA_* JDK_* JVM_* MAVEN_* MVN_* GRADLE_* SBT_* LEIN_* KOTLIN_* SCALA_*
  DOTNET_* COR_* CORECLR_* COMPLUS_* NUGET_* MSBUILD* PSMODULE*
  GOFLAGS GOENV GOROOT* GOBIN GOCACHE* GOTMPDIR GOWORK GODEBUG GOEXPERIMENT GOPROXY GOPRIVATE GONOPROXY GONOSUM* GOSUMDB
  GOINSECURE GOVCS GOAUTH GOTOOLCHAIN GO111MODULE GCCGO CGO_* CARGO_* RUST_* RUSTC* RUSTDOC* RUSTFMT* RUSTUP_* RUSTFLAGS SCCACHE_* SWIFT_*
  CC CXX CPP LD AR AS NM RANLIB STRIP *CFLAGS *CPPFLAGS *CXXFLAGS *LDFLAGS *ASFLAGS *MAKEFLAGS MFLAGS MAKEFILES MAKE GCC_* CLANG_* CMAKE_*
  NINJA_* MESON_* CCACHE_* DISTCC_* PKG_CONFIG* BAZEL* AUTOCONF AUTOMAKE ACLOCAL LIBTOOL* M4 YACC LEX
  GIT_* HGEDITOR HGMERGE HGPLAIN* SVN_* CVS_* SSH_* GPG_* GNUPGHOME GNUPG* SUDO_* RSYNC_* PATCH_*
  ZIP ZIPINFO UNZIP GZIP BZIP BZIP2 XZ_* LZMA_* ZSTD_* LESS LESSOPEN LESSCLOSE LESSKEY* MORE GROFF_* TEXMF* TEXINPUTS GREP_* LS_COLORS POSIXLY_CORRECT
  WGET* CURL_* LYNX_* FTP_* RCLONE_* ANSIBLE_* TF_CLI_* TF_DATA_DIR TF_REATTACH_* TF_PLUGIN_* TERRAFORM_* PACKER_* VAGRANT_*
  DOCKER_HOST DOCKER_CONFIG DOCKER_CONTEXT DOCKER_TLS* DOCKER_BUILDKIT DOCKER_CLI_* DOCKER_DEFAULT_* DOCKER_CONTENT_* BUILDKIT_* BUILDX_* COMPOSE_* CONTAINER_* CONTAINERS_* PODMAN_* KUBE* HELM_* MINIKUBE_*
  *HTTP_PROXY *HTTPS_PROXY *ALL_PROXY *FTP_PROXY *NO_PROXY *_PROXY_COMMAND
  OPENSSL_* SSL_CERT_* SSLKEYLOGFILE SSLDIR *CA_BUNDLE *_CA_FILE *_CA_CERTS *_CACERT KRB5* GSS_* SASL_*
  AWS_ENDPOINT_URL* AWS_SHARED_CREDENTIALS_FILE AWS_CONTAINER_* AWS_EC2_METADATA_* AWS_WEB_IDENTITY_* AWS_CLI_* AWS_PROFILE
  AWS_DEFAULT_PROFILE AWS_USE_* AWS_STS_* BOTO_* CLOUDSDK_* GCE_METADATA_* GOOGLE_EXTERNAL_* AZURE_AUTHORITY_HOST AZURE_CONFIG_DIR
  PG* MYSQL_HOME MYSQL_UNIX_PORT MYSQL_TEST_LOGIN_FILE LIBMYSQL_* ODBC* TNS_ADMIN SQLITE_* REDISCLI_* FREETDS*
  VIMINIT GVIMINIT EXINIT VIM VIMRUNTIME EMACS* GDB* VALGRIND_* ASAN_* LSAN_* MSAN_* TSAN_* UBSAN_* OMP_* QT_* GTK_* GIO_* GST_*
`);

/** Files of code that R runs at its start, although their names end as those of credentials do. */
const NEVER_CREDENTIALS = words('R_PROFILE_USER R_ENVIRON_USER');

/** What a client authenticates with steers nothing else: these names pass. */
const CREDENTIALS = words('*TOKEN *PASSWORD *PASSWD *SECRET *_KEY *_KEY_ID *_USER *_USERNAME PGUSER PGDATABASE');

const matcher = (patterns: string[]) => new RegExp(`^(${patterns.map((pattern) => pattern.replaceAll('*', '.*')).join('|')})$`);

const [isReservedPattern, isSteeringPattern, isCredential] = [RESERVED, STEERING, CREDENTIALS].map(matcher) as [RegExp, RegExp, RegExp];

/** Whether only --allow-reserved lets a secret set this variable. Ignores case, as Windows does; proxy variables exist in both cases. */
export const isReserved = (variable: string): boolean => isReservedPattern.test(variable.toUpperCase());

/** Whether this variable changes how programs run, so that a secret sets it only if it is expected. */
export function isSteering(variable: string): boolean {
  const upper = variable.toUpperCase();
  return isReserved(upper) || (isSteeringPattern.test(upper) && (!isCredential.test(upper) || NEVER_CREDENTIALS.includes(upper)));
}

/** The patterns, for the documentation. */
export const PATTERNS = { reserved: RESERVED, steering: STEERING, credentials: CREDENTIALS };
