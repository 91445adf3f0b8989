// What .svc.json says beside address, organisation and environment: which secrets a project expects, its
// prefixes and its profile.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { isReserved, isSteering } from '../../src/run/steering.ts';
import { variablesOf } from '../../src/run/variables.ts';
import { type Machine, signedIn, succeeding } from '../harness.ts';

let at: Awaited<ReturnType<typeof signedIn>>;
let machine: Machine;
const { ok } = succeeding(() => machine);
const set = (name: string, value: string, environment = 'development') =>
  ok(['set', name, '-e', environment], { stdin: value });
const file = () => path.join(machine.work, '.svc.json');
const project = () => JSON.parse(fs.readFileSync(file(), 'utf8'));
const rewrite = (change: object) => fs.writeFileSync(file(), JSON.stringify({ ...project(), ...change }));
/** The variables that a command gets, of those given. */
const passed = async (names: string[], ...options: string[]) => {
  const script = `process.stdout.write(JSON.stringify(${JSON.stringify(names)}.map((name) => process.env[name] ?? null)))`;
  const ran = await machine.spawn(['run', ...options, '--', process.execPath, '-e', script]).done;
  expect(ran.code, ran.stderr).toBe(0);
  return { values: JSON.parse(ran.stdout), stderr: ran.stderr };
};

beforeAll(async () => {
  at = await signedIn();
  machine = at.machine;
  await set('DATABASE_URL', 'postgres://app');
  await set('TAR_OPTIONS', '--to-command=evil');
  await set('LD_AUDIT', 'evil.so');
});

describe('steering', () => {
  it('steering names: variables that programs read their behaviour from are among them, and credentials are not', () => {
    const steering =
      'PATH MANPATH TAR_OPTIONS MAKEFILES MAKEFLAGS JAVA_HOME JAVA_TOOL_OPTIONS ZIPOPT GIT_TRACE GIT_SSH_COMMAND CARGO_BUILD_RUSTC_WRAPPER RUSTC RUSTC_WRAPPER GOENV GOFLAGS WGETRC HGRCPATH PGHOST PGSERVICEFILE AWS_ENDPOINT_URL AWS_ENDPOINT_URL_S3 AWS_CONFIG_FILE NODE_OPTIONS NODE_PATH https_proxy BASH_ENV ENV PYTHONSTARTUP PERL5OPT RUBYOPT KUBECONFIG CURL_HOME LESSOPEN EDITOR NPM_CONFIG_SCRIPT_SHELL PIP_INDEX_URL TF_CLI_ARGS LUA_INIT_5_4 INPUTRC VIMINIT CC CFLAGS DOCKER_HOST GCONV_PATH SSL_CERT_FILE LD_PRELOAD DYLD_INSERT_LIBRARIES SVC_URL ANSIBLE_VAULT_PASSWORD_FILE CHROME_BIN PRISMA_QUERY_ENGINE_BINARY PRISMA_QUERY_ENGINE_LIBRARY FZF_DEFAULT_COMMAND DJANGO_SETTINGS_MODULE FLASK_APP COREPACK_NPM_REGISTRY R_PROFILE_USER R_ENVIRON_USER BORG_PASSCOMMAND BORG_RSH SOPS_GPG_EXEC GDK_PIXBUF_MODULE_FILE CELERY_LOADER RANLIB HEX_API_URL COMPOSER JUPYTER_CONFIG_DIR OCAMLRUNPARAM ' +
      'TOX_OVERRIDE NIX_CONFIG STARSHIP_CONFIG COVERAGE_PROCESS_START REBAR_CONFIG TCL_LIBRARY TK_LIBRARY DIRENV_CONFIG UVICORN_LOG_CONFIG GUNICORN_CMD_ARGS GHC_ENVIRONMENT WINELOADER WINEDLLOVERRIDES PASSWORD_STORE_DIR PASSWORD_STORE_KEY PASSWORD_STORE_SIGNING_KEY PASSWORD_STORE_EXTENSIONS_DIR VAULT_ADDR VAULT_AGENT_ADDR VAULT_SKIP_VERIFY CONSUL_HTTP_ADDR NOMAD_ADDR LIBS ASDF_DATA_DIR MISE_CONFIG_DIR VOLTA_HOME RBENV_VERSION ' +
      'NULLCMD TOXENV NIXPKGS_CONFIG APT_CONFIG HOST_CC BUNDLER_SETUP PYSPARK_PYTHON BABASHKA_PRELOADS ERLC_EMULATOR OPENSC_CONF CONFIG_SITE GOPACKAGESDRIVER SPRING_APPLICATION_JSON OPENAI_BASE_URL ' +
      'R_LIBS_USER LOGGING_CONFIG LOG4J_CONFIGURATION_FILE LOGBACK_CONFIGURATION_FILE PKCS11_MODULE JULIA_PROJECT ZIG_LIB_DIR OMPI_MCA_orte_launch_agent WIRESHARK_PLUGIN_DIR NMAPDIR P4DIFF TURBO_API GOENV_ROOT ' +
      'FCEDIT HF_ENDPOINT HF_HUB_CACHE TRANSFORMERS_CACHE TORCHINDUCTOR_CACHE_DIR NUMBA_CACHE_DIR PLAYWRIGHT_DOWNLOAD_HOST PUPPETEER_DOWNLOAD_BASE_URL SHARP_DIST_BASE_URL SENTRYCLI_CDNURL SASS_BINARY_SITE CANVAS_BINARY_HOST ' +
      'HADOOP_CONF_DIR PUBSUB_EMULATOR_HOST MSI_ENDPOINT OCL_ICD_VENDORS LIBVA_DRIVER_NAME FONTCONFIG_FILE NVIM_APPNAME HEROKU_HOST ' +
      'AZURE_EXTENSION_DIR KREW_ROOT GITLAB_HOST DEBUGINFOD_URLS CDK_DOCKER OPAMFETCH OPAMROOT PUB_HOSTED_URL PUB_CACHE FLUTTER_ROOT FLUTTER_STORAGE_BASE_URL ANDROID_SDK_ROOT SDKROOT TOOLCHAINS DFLAGS BAO_ADDR BAO_SKIP_VERIFY TERRAGRUNT_CONFIG PLTADDONDIR AIRFLOW_CONFIG NIMBLE_DIR CVSROOT TWO_TASK OP_CONNECT_HOST ' +
      'grpc_proxy SOCKS_SERVER PROXYCHAINS_CONF_FILE FFREPORT ASPNETCORE_HOSTINGSTARTUPASSEMBLIES OTEL_PYTHON_CONFIGURATOR OLLAMA_HOST';
    expect(steering.split(' ').filter((name) => !isSteering(name))).toEqual([]);
    const ordinary =
      'DATABASE_URL STRIPE_KEY SMTP_HOST PGPASSWORD PGUSER NODE_AUTH_TOKEN CARGO_REGISTRY_TOKEN GIT_TOKEN DOCKER_USERNAME DOCKER_PASSWORD SSH_PRIVATE_KEY JAVA_KEYSTORE_PASSWORD AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_REGION TF_VAR_region RAILS_MASTER_KEY GOOGLE_API_KEY MANDRILL_KEY REDIS_URL FEATURE_FLAGS APP_CONFIG SLACK_WEBHOOK VAULT_TOKEN VAULT_SECRET_ID STORE_PASSWORD TARGET_URL LINK_SECRET HF_TOKEN HEROKU_API_KEY SENTRY_DSN CDN_URL DOWNLOAD_URL BAO_TOKEN OP_CONNECT_TOKEN AIRFLOW__CORE__SQL_ALCHEMY_CONN';
    expect(ordinary.split(' ').filter(isSteering)).toEqual([]);
    expect(['LD_PRELOAD', 'dyld_library_path', 'SVC_TOKEN'].every(isReserved)).toBe(true);
  });

  it('steering names: every variable of the built-in rules of GNU make is one', () => {
    const documented =
      'AR AS CC CXX CPP FC F77 OBJC M2C PC CO GET LEX YACC LINT MAKEINFO TEX TEXI2DVI WEAVE CWEAVE TANGLE CTANGLE RM ' +
      'ARFLAGS ASFLAGS CFLAGS CXXFLAGS COFLAGS CPPFLAGS FFLAGS F77FLAGS OBJCFLAGS GFLAGS LDFLAGS LDLIBS LOADLIBES LFLAGS YFLAGS PFLAGS RFLAGS LINTFLAGS ' +
      'M2FLAGS MODFLAGS DEFFLAGS TARGET_ARCH TARGET_MACH OUTPUT_OPTION VPATH SUFFIXES MAKE MAKE_COMMAND MAKEFLAGS MAKEFILES GNUMAKEFLAGS MAKEOVERRIDES';
    // Where make is installed, what it prints itself.
    const printed = spawnSync('make', ['-p', '-f', '/dev/null'], { encoding: 'utf8' }).stdout ?? '';
    const found = [...printed.matchAll(/^# default\n([A-Za-z_0-9]+) :?=/gm)].map(([, name = '']) => name);
    expect([...documented.split(' '), ...found].filter((name) => !isSteering(name))).toEqual([]);
  });

  it('steering names: a name that becomes such a variable is one, and a list names secrets, not variables', () => {
    const values = new Map([
      ['tar-options', 'evil'],
      ['billing/PATH', 'evil'],
      ['OTHER', 'x'],
    ]);
    const of = (choice: object) => variablesOf(values, {}, choice).names;
    expect(of({})).toEqual(['OTHER']);
    expect(of({ prefixes: ['billing/'], listed: ['PATH'] })).toEqual([]);
    expect(of({ prefixes: ['billing/'], listed: ['billing/PATH'] })).toEqual(['PATH']);
    expect(of({ listed: ['tar-options'] })).toEqual(['tar_options', 'OTHER']);
  });
});

describe('svc init and svc check', () => {
  it('init: lists the names of the environment, but none that can steer programs until a person lists it', async () => {
    const made = await ok(['init', '--env', 'development']);
    expect(project()).toEqual({
      url: at.url,
      org: at.org,
      environment: 'development',
      secrets: ['DATABASE_URL'],
    });
    expect(made.stderr).toMatch(/2 secrets are left out: LD_AUDIT, TAR_OPTIONS: they can steer programs/);
    const before = await passed(['DATABASE_URL', 'TAR_OPTIONS']);
    expect(before.values).toEqual(['postgres://app', null]);
    expect(before.stderr).toContain('TAR_OPTIONS is left out: it can change how programs run');
    rewrite({ secrets: ['DATABASE_URL', 'TAR_OPTIONS', 'LD_AUDIT'] });
    expect(await passed(['TAR_OPTIONS', 'LD_AUDIT'])).toEqual({
      values: ['--to-command=evil', null],
      stderr: expect.stringMatching(/LD_AUDIT is left out: it is reserved/),
    });
    await ok(['init', '--force', '--env', 'development']);
    expect(project().secrets).toEqual(['DATABASE_URL', 'LD_AUDIT', 'TAR_OPTIONS']);
  });

  it('check: missing secrets and new ones that can steer programs are findings, other new ones only with --exact', async () => {
    const check = async (...argv: string[]) => {
      const { code, json } = await machine.svc(['check', '--json', ...argv]);
      return [
        code,
        Object.fromEntries(
          json.data.map((row: { name: string; finding: string }) => [row.name, row.finding]),
        ),
      ];
    };
    rewrite({ secrets: ['DATABASE_URL', 'TAR_OPTIONS', 'LD_AUDIT'] });
    expect(await check()).toEqual([9, { LD_AUDIT: 'reserved' }]);
    await ok(['delete', 'LD_AUDIT', '--yes']);
    rewrite({ secrets: ['DATABASE_URL', 'TAR_OPTIONS'] });
    expect(await check()).toEqual([0, {}]);
    await set('NEW_ONE', 'x');
    expect(await check()).toEqual([0, { NEW_ONE: 'unlisted' }]);
    expect(await check('--exact')).toEqual([9, { NEW_ONE: 'unlisted' }]);
    rewrite({ secrets: ['DATABASE_URL', 'GONE', 'NEW_ONE'] });
    expect(await check()).toEqual([9, { GONE: 'missing', TAR_OPTIONS: 'steering' }]);
    expect(await check('-e', 'staging')).toMatchObject([9, { DATABASE_URL: 'missing' }]);
    expect((await machine.svc(['check'])).stdout).toContain(
      'TAR_OPTIONS\tnot listed, and left out by svc run',
    );
    rewrite({ secrets: undefined });
    expect(await machine.svc(['check'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('svc init --force'),
    });
    expect((await machine.svc(['run', '--listed', '--', 'true'])).code).toBe(2);
  });

  it('run --listed: passes only secrets on the list', async () => {
    rewrite({ secrets: ['DATABASE_URL'] });
    const { values, stderr } = await passed(['DATABASE_URL', 'NEW_ONE'], '--listed');
    expect([values, stderr]).toEqual([
      ['postgres://app', null],
      expect.stringContaining('NEW_ONE is left out: it is not listed'),
    ]);
  });

  it('init: before the first secret it lists none, and the list is written later', async () => {
    const { machine: other } = await signedIn();
    const json = () => JSON.parse(fs.readFileSync(path.join(other.work, '.svc.json'), 'utf8'));
    const made = await other.svc(['init', '--env', 'development']);
    expect([made.code, made.stderr]).toEqual([
      0,
      expect.stringContaining('no secrets yet, so none are listed'),
    ]);
    expect(json()).not.toHaveProperty('secrets');
    for (const argv of [['check'], ['run', '--listed', '--', 'true']])
      expect(await other.svc(argv)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('svc init --force'),
      });
    await other.svc(['set', 'FIRST'], { stdin: 'x' });
    expect((await other.svc(['init', '--force', '--env', 'development'])).stderr).toContain(
      'which lists 1 secret:',
    );
    expect(json().secrets).toEqual(['FIRST']);
  });

  it('init: the environment is chosen: at no terminal by --env alone, and never the default one', async () => {
    fs.rmSync(file());
    const refused = await machine.svc(['init']);
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/--env with one of development, /),
    });
    expect(fs.existsSync(file())).toBe(false);
    expect((await machine.svc(['init', '--env', 'nowhere'])).code).toBe(5);
  });
});

describe('names and prefixes', () => {
  it('run: names become the variables that svc export writes', async () => {
    for (const name of ['map/WITH-DASH', 'map/dotted.name', 'map/deep/er'])
      await set(name, `value of ${name}`, 'staging');
    const { stdout } = await ok(['export', '--format', 'dotenv', '-e', 'staging']);
    const exported = [...stdout.matchAll(/^(\w+)=/gm)].map(([, name = '']) => name);
    expect(exported).toEqual(['map_WITH_DASH', 'map_deep_er', 'map_dotted_name']);
    const script =
      'process.stdout.write(Object.keys(process.env).filter((name) => name.startsWith("map")).sort().join())';
    const ran = await machine.spawn(['run', '-e', 'staging', '--', process.execPath, '-e', script]).done;
    expect([ran.stdout, ran.stderr]).toEqual([exported.join(), '']);
  });

  it('run: if several names become one variable, only the name equal to the variable counts', () => {
    const found = variablesOf(
      new Map(Object.entries({ 'A-B': '1', A_B: '2', 'C-D': '3', 'C.D': '4' })),
      {},
      {},
    );
    expect([found.names, found.env.A_B]).toEqual([['A_B'], '2']);
    expect(found.left.map(({ name, why }) => `${name} ${why}`).sort()).toEqual([
      'A-B collision',
      'C-D collision',
      'C.D collision',
    ]);
  });

  it('run: several prefixes, of which a later one wins, from options or .svc.json', async () => {
    await set('shared/URL', 'shared');
    await set('shared/ONLY', 'only');
    await set('billing/URL', 'billing');
    const both = ['--prefix', 'shared/', '--prefix', 'billing/', '--env', 'development'];
    expect(await passed(['URL', 'ONLY', 'DATABASE_URL'], ...both)).toEqual({
      values: ['billing', 'only', null],
      stderr: '',
    });
    await ok(['init', ...both]);
    expect(project()).toMatchObject({
      prefixes: ['shared/', 'billing/'],
      secrets: ['billing/URL', 'shared/ONLY', 'shared/URL'],
    });
    expect((await passed(['URL', 'ONLY'])).values).toEqual(['billing', 'only']);
    expect((await passed(['URL', 'ONLY'], '--prefix', 'shared/')).values).toEqual(['shared', 'only']);
    expect((await passed(['DATABASE_URL'], '--prefix', '')).values).toEqual(['postgres://app']);
    expect(await machine.svc(['check'])).toMatchObject({ code: 0 });
    for (const prefixes of [[], [''], ['a b'], Array(11).fill('a'), 'a']) {
      fs.writeFileSync(file(), JSON.stringify({ prefixes }));
      expect((await machine.svc(['check'])).code, String(prefixes)).toBe(2);
    }
    expect((await machine.svc(['run', ...Array(11).fill(['--prefix', 'a']).flat(), '--', 'true'])).code).toBe(
      2,
    );
    fs.rmSync(file());
  });
});

describe('export', () => {
  it('export --prefix: the file has what svc run sets', async () => {
    const argv = ['export', '--format', 'dotenv', '-e', 'development'];
    const names = async (...more: string[]) =>
      [...(await ok([...argv, ...more])).stdout.matchAll(/^(\w+)=(.*)$/gm)]
        .map(([line]) => line.replaceAll(/['"]/g, ''))
        .sort();
    expect(await names('--prefix', 'shared/', '--prefix', 'billing/')).toEqual(['ONLY=only', 'URL=billing']);
    expect(await names('--prefix', 'shared/', '--only', 'URL')).toEqual(['URL=shared']);
    machine.write('.svc.json', JSON.stringify({ prefixes: ['billing/'] }));
    expect(await names()).toEqual(['URL=billing']);
    fs.rmSync(file());
    expect((await machine.svc([...argv, '--prefix', 'none/'])).code).toBe(5);
  });
});

describe('profile', () => {
  it('profile: .svc.json names the profile of its commands, after --profile and SVC_PROFILE', async () => {
    await ok(['login', '--url', at.url, '--key-stdin', '--profile', 'acme'], { stdin: at.key });
    await ok(['init', '--profile', 'acme', '--env', 'development']);
    expect(project()).toMatchObject({ profile: 'acme' });
    const profile = async (...argv: string[]) => (await ok(['whoami', '--json', ...argv])).json.profile;
    expect([await profile(), await profile('--profile', 'default')]).toEqual(['acme', 'default']);
    rewrite({ profile: '../acme' });
    expect((await machine.svc(['whoami'])).code).toBe(2);
  });

  it('profile: one that the user does not have is an error that names the file and the profiles', async () => {
    await ok(['login', '--url', at.url, '--key-stdin', '--profile', 'acme'], { stdin: at.key });
    for (const { profile, url, argv } of [
      { profile: 'acne', url: at.url, argv: ['whoami'] },
      { profile: 'acne', url: undefined, argv: ['whoami'] },
      { profile: 'acne', url: at.url, argv: ['run', '--', 'true'] },
      { profile: 'acne', url: at.url, argv: ['logout'] },
    ]) {
      rewrite({ profile, url });
      const ran = await machine.svc(argv);
      expect(ran.code, argv.join()).toBe(3);
      expect(ran.stderr).toContain(`${file()} names the profile acne, which you do not have.`);
      expect(ran.stderr).toContain('You have acme, default.');
    }
    expect((await machine.svc(['doctor'])).stdout).toContain('names the profile acne');
    // Who has a token needs no profile, and who signs in makes it.
    rewrite({ url: at.url });
    const env = { SVC_TOKEN: at.key, SVC_URL: at.url };
    expect((await machine.svc(['whoami'], { env })).code).toBe(0);
    await ok(['login', '--url', at.url, '--key-stdin'], { stdin: at.key });
    expect((await ok(['whoami', '--json'])).json.profile).toBe('acne');
    await ok(['logout']);
  });
});
