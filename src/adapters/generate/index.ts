// The formats of generated files. A new format is a file and a line here.
import { ansible } from './ansible';
import { composeSecrets } from './compose-secrets';
import { dockerEnv } from './docker-env';
import { devVars, dotenv } from './dotenv';
import { externalSecrets } from './external-secrets';
import type { Format } from './format';
import { githubActions } from './github-actions';
import { helm } from './helm';
import { json } from './json';
import { kubernetes } from './kubernetes';
import { properties } from './properties';
import { shell } from './shell';
import { systemd } from './systemd';
import { tfvars, tfvarsJson } from './tfvars';
import { yaml } from './yaml';

export const formats: readonly Format[] = [
  ...[kubernetes, externalSecrets, dockerEnv, composeSecrets, dotenv, shell, tfvars, tfvarsJson],
  ...[ansible, helm, systemd, githubActions, devVars, json, yaml, properties],
];

export const formatNames = formats.map(({ format }) => format) as [string, ...string[]];

export const formatOf = (name: string): Format => formats.find(({ format }) => format === name) as Format;
