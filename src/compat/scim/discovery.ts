// What the service supports of SCIM, for the discovery endpoints (RFC 7643, sections 5 to 7).
import { GROUP, USER } from './answers';

const SCHEMAS = 'urn:ietf:params:scim:schemas:core:2.0';

export const serviceProviderConfig = (base: string) => ({
  schemas: [`${SCHEMAS}:ServiceProviderConfig`],
  patch: { supported: true },
  bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
  filter: { supported: true, maxResults: 200 },
  changePassword: { supported: false },
  sort: { supported: false },
  etag: { supported: false },
  authenticationSchemes: [
    {
      type: 'oauthbearertoken',
      name: 'SCIM token',
      description: 'A SCIM token in the header Authorization, with the scheme Bearer.',
      primary: true,
    },
  ],
  meta: { resourceType: 'ServiceProviderConfig', location: `${base}/ServiceProviderConfig` },
});

const typeOf = (base: string, name: 'User' | 'Group', schema: string) => ({
  schemas: [`${SCHEMAS}:ResourceType`],
  id: name,
  name,
  endpoint: `/${name}s`,
  description: name === 'User' ? 'A member of the organisation.' : 'A team.',
  schema,
  schemaExtensions: [],
  meta: { resourceType: 'ResourceType', location: `${base}/ResourceTypes/${name}` },
});

export const resourceTypes = (base: string) => [typeOf(base, 'User', USER), typeOf(base, 'Group', GROUP)];

const attribute = (name: string, more: object = {}) => ({
  name,
  type: 'string',
  multiValued: false,
  description: name,
  required: false,
  caseExact: false,
  mutability: 'readWrite',
  returned: 'default',
  uniqueness: 'none',
  ...more,
});
const complex = (name: string, subAttributes: object[], more: object = {}) =>
  attribute(name, { type: 'complex', subAttributes, ...more });
/** Resources that another one names. `mutability` is that of all but the text that is shown. */
const references = (name: string, to: 'User' | 'Group', mutability: 'immutable' | 'readOnly', more = {}) =>
  complex(
    name,
    [
      attribute('value', { mutability }),
      attribute('display', { mutability: 'readOnly' }),
      attribute('$ref', { type: 'reference', referenceTypes: [to], mutability }),
      ...(to === 'User' ? [attribute('type', { mutability, canonicalValues: [to] })] : []),
    ],
    { multiValued: true, ...more },
  );

const schemaOf = (base: string, id: string, name: string, description: string, attributes: object[]) => ({
  schemas: [`${SCHEMAS}:Schema`],
  id,
  name,
  description,
  attributes,
  meta: { resourceType: 'Schema', location: `${base}/Schemas/${id}` },
});

export const schemas = (base: string) => [
  schemaOf(base, USER, 'User', 'A member of the organisation.', [
    attribute('userName', { required: true, uniqueness: 'server' }),
    attribute('externalId', { caseExact: true }),
    complex('name', [
      attribute('givenName'),
      attribute('familyName'),
      attribute('formatted', { mutability: 'readOnly' }),
    ]),
    attribute('displayName'),
    complex(
      'emails',
      [
        attribute('value', { required: true }),
        attribute('type', { canonicalValues: ['work'] }),
        attribute('primary', { type: 'boolean' }),
      ],
      { multiValued: true, required: true },
    ),
    attribute('active', { type: 'boolean' }),
    references('groups', 'Group', 'readOnly', { mutability: 'readOnly' }),
  ]),
  schemaOf(base, GROUP, 'Group', 'A team.', [
    attribute('displayName', { required: true, uniqueness: 'server' }),
    attribute('externalId', { caseExact: true }),
    references('members', 'User', 'immutable'),
  ]),
];
