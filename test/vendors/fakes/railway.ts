// Railway's GraphQL API, by https://docs.railway.com/integrations/api/manage-variables: its part that deals
// with variables, run by graphql-js, so that documents and inputs are held against a schema.
import { buildSchema, GraphQLError, type GraphQLScalarType, graphql } from 'graphql';
import { type Fake, type FakeRequest, startFake } from './server.ts';

export interface RailwayFake extends Fake {
  /** Tokens of the two kinds. */
  account: string;
  project: string;
  projectId: string;
  environmentId: string;
  serviceId: string;
  shared: Record<string, string>;
  service: Record<string, string>;
  deployments: number;
}

const schema = buildSchema(`
  scalar EnvironmentVariables
  input VariableCollectionUpsertInput {
    projectId: String! environmentId: String! serviceId: String variables: EnvironmentVariables! replace: Boolean = false skipDeploys: Boolean = false
  }
  input VariableUpsertInput {
    projectId: String! environmentId: String! serviceId: String name: String! value: String! skipDeploys: Boolean = false
  }
  input VariableDeleteInput { projectId: String! environmentId: String! serviceId: String name: String! }
  type Query {
    variables(projectId: String!, environmentId: String!, serviceId: String, unrendered: Boolean): EnvironmentVariables!
  }
  type Mutation {
    variableCollectionUpsert(input: VariableCollectionUpsertInput!): Boolean!
    variableUpsert(input: VariableUpsertInput!): Boolean!
    variableDelete(input: VariableDeleteInput!): Boolean!
  }
`);
const scalar = schema.getType('EnvironmentVariables') as GraphQLScalarType;
scalar.parseValue = (value) => {
  const isMap =
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((each) => typeof each === 'string');
  if (!isMap) throw new GraphQLError('made up: EnvironmentVariables must be a map of texts');
  return value;
};

interface Place {
  projectId: string;
  environmentId: string;
  serviceId?: string | null;
}

const fails = (message: string, code = 'INTERNAL_SERVER_ERROR') =>
  new GraphQLError(message, { extensions: { code } });

export async function startRailway(): Promise<RailwayFake> {
  const fake = (await startFake(async ({ method, path, headers, json }) => {
    if (path !== '/graphql/v2' || method !== 'POST') return { status: 404, body: 'made up' };
    if (!headers['content-type']?.startsWith('application/json') || typeof json?.query !== 'string')
      return { status: 400, body: { errors: [] } };
    const isKnown =
      headers.authorization === `Bearer ${fake.account}` || headers['project-access-token'] === fake.project;
    const result = await graphql({
      schema,
      source: json.query,
      variableValues: json.variables,
      rootValue: resolvers(fake, isKnown),
    });
    return { status: 200, body: result };
  })) as RailwayFake;
  const ids = { projectId: 'project-1', environmentId: 'environment-1', serviceId: 'service-1' };
  fake.writes = () =>
    fake.requests.filter(({ json }: FakeRequest) => String(json?.query).startsWith('mutation'));
  return Object.assign(fake, {
    account: 'account-token',
    project: 'project-token',
    ...ids,
    shared: {},
    service: {},
    deployments: 0,
  });
}

function resolvers(fake: RailwayFake, isKnown: boolean) {
  const at = ({ projectId, environmentId, serviceId }: Place): Record<string, string> => {
    if (!isKnown) throw fails('Not Authorized');
    if (projectId !== fake.projectId) throw fails('Project not found');
    if (environmentId !== fake.environmentId) throw fails('Environment not found');
    if (serviceId && serviceId !== fake.serviceId) throw fails('Service not found');
    return serviceId ? fake.service : fake.shared;
  };
  const set = (vars: Record<string, string>, name: string, value: string) => {
    if (!/^[A-Za-z_]\w*$/.test(name)) throw fails('Invalid variable name', 'BAD_USER_INPUT');
    // A reference is rendered: another variable's value would stand there.
    vars[name] = value.replaceAll(/\$\{\{.*?\}\}/g, 'rendered');
  };
  return {
    variables: (args: Place) => at(args),
    variableCollectionUpsert({
      input,
    }: {
      input: Place & { variables: Record<string, string>; replace: boolean; skipDeploys: boolean };
    }) {
      const vars = at(input);
      if (input.replace) for (const name of Object.keys(vars)) delete vars[name];
      for (const [name, value] of Object.entries(input.variables)) set(vars, name, value);
      if (!input.skipDeploys) fake.deployments++;
      return true;
    },
    variableUpsert({ input }: { input: Place & { name: string; value: string; skipDeploys: boolean } }) {
      set(at(input), input.name, input.value);
      if (!input.skipDeploys) fake.deployments++;
      return true;
    },
    variableDelete({ input }: { input: Place & { name: string } }) {
      const vars = at(input);
      if (!(input.name in vars)) throw fails('Variable not found');
      delete vars[input.name];
      return true;
    },
  };
}
