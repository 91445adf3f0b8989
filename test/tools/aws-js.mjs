// What programs in JavaScript do with AWS's own client, unchanged. Prints what it saw as JSON.
const {
  BatchGetSecretValueCommand,
  CreateSecretCommand,
  DeleteSecretCommand,
  GetSecretValueCommand,
  PutSecretValueCommand,
  SecretsManagerClient,
} = await import(process.env.AWS_JS);

const client = new SecretsManagerClient({});
const refused = (command) =>
  client.send(command).then(
    () => null,
    (error) => error.name,
  );
const seen = {};
await client.send(new CreateSecretCommand({ Name: 'js/db', SecretString: 'one' }));
const put = await client.send(
  new PutSecretValueCommand({ SecretId: 'js/db', SecretBinary: new Uint8Array([0, 255]) }),
);
seen.stages = put.VersionStages;
const read = await client.send(new GetSecretValueCommand({ SecretId: 'js/db' }));
seen.binary = Buffer.from(read.SecretBinary).toString('hex');
seen.created = read.CreatedDate instanceof Date;
const filters = [{ Key: 'name', Values: ['js/'] }];
const batch = await client.send(new BatchGetSecretValueCommand({ Filters: filters }));
seen.batch = batch.SecretValues.map(({ Name }) => Name);
seen.exists = await refused(new CreateSecretCommand({ Name: 'js/db', SecretString: 'x' }));
await client.send(new DeleteSecretCommand({ SecretId: 'js/db', ForceDeleteWithoutRecovery: true }));
seen.absent = await refused(new GetSecretValueCommand({ SecretId: 'js/db' }));
process.stdout.write(JSON.stringify(seen));
