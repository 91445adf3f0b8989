// Ordinary words: values such as "development" stand in any repository without being a leak. Invariant: a
// word that is on this list is never searched for as the value of a secret, in any case and whatever stands
// around it.

/** Words of 8 letters or more in configuration files and their comments: stages, roles, engines, settings. */
const WORDS = new Set(
  `abstract accepted accessed accounts activate activity additional addresses administrator advanced aggregate algorithm
  allocation alphabet alphabetical analytics anonymous antivirus anything appended appendix applicant application applications
  approval approved architecture archived argument arguments assembly assigned associated asterisk attached attachment attempts
  attribute attributes audience authenticate authenticated authentication authorization authorized autocomplete automatic
  automatically automation autoscaling available background balancer bandwidth baseline basename becoming behavior benchmark
  blacklist blueprint boundary broadcast browsers building calendar callback campaign canceled cancelled capabilities capacity
  captured category certificate certificates changeit changelog changeme character characters charging checkout checksum
  children classification clickhouse cloudflare clusters cocktail collection collections combined commands comments commerce
  commercial committed community companies comparison compatibility compatible compiled complete completed component components
  composer compound compressed compression computed concurrency condition conditional conditions confidential configuration
  configure configured confirmation confirmed conflict connected connection connections consistent constant constants constraint
  consumer container containers contents continue continuous contract contribute controller conversion converted coordinator
  corporate correction coverage credential credentials currency customer customers dashboard database databases datasource
  daylight deactivated debugger debugging december declared decorator defaults definition definitions delegate delimiter
  delivered delivery dependencies dependency deployed deployment deployments deprecated description descriptor designer
  destination detached detected developer developers developing development diagnostics dictionary different digitalocean
  dimension directories directory disabled disconnect discovery displayed distributed distribution document documentation
  documents downgrade download downloads duplicate duration dynamodb ecosystem editable education elasticache elasticsearch
  electronic elements eligible embedded emergency employee employees encoding encrypted encryption endpoint endpoints engineer
  engineering enterprise entertainment enumeration environment environments equivalent escalation estimate evaluate evaluation
  everyone everything examples exception exchange excluded executable execution executor exemplar existing expected experimental
  expiration explicit exported expression extended extension extensions external facebook failover failures fallback features
  february feedback fetching filename fileserver filesystem filtered finished firebase firewall firmware flagship flexible
  followed foreground formatted formatter forwarded forwarding foundation fragment framework frequency friendly frontend
  fulfilled fullname function functional functions gateways generate generated generation generator gitignore globally gradient
  gradually graphics grouping guarantee guidelines handlers hardware headless heartbeat hierarchy highlight historical homepage
  homepages horizontal hostname hostnames hypertext identical identifier identifiers identity ignoring illustration immediate
  immediately immutable implement implementation implicit important imported included incoming incomplete incremental indexing
  industry inference influxdb information infrastructure ingestion inherited initialize initialized inspector installation
  installed instance instances instruction integration integrations interactive interface interfaces intermediate internal
  international internet interval introduction inventory invocation isolation iteration javascript keyboard keycloak keyspace
  keystore kubernetes language languages latitude launcher leaderboard learning lifecycle lifetime limitation linkedin listener
  listening literals loadbalancer localhost localization location locations lockfile logistics longitude loopback lowercase
  machines maintained maintainer maintenance management manifest markdown marketing marketplace measurement mechanism memcached
  merchant messages messaging metadata microservice microservices microsoft middleware migration migrations milestone
  millisecond milliseconds minified mirrored modified modifier monitoring multiple multiplier mutation namespace namespaces
  navigation negative neighbor netscape networking networks newsletter nonexistent normalize normalized notebook notification
  notifications november nullable numbered numerical objective observability observer obsolete occurrence official operating
  operation operations operator operators optional organisation organisations organization organizations original outbound
  outdated outgoing overflow overhead override overrides overview overwrite packages packaging paginate pagination parallel
  parameter parameters parentheses partially participant partition partitions partners passphrase passport password passwords
  pathname patterns payments percentage performance periodic permanent permission permissions persistence persistent personal
  pipeline pipelines placeholder placement platform platforms playbook playground playwright pointers policies populated
  portable position positive possible postgres postgresql potential practice precision predicate preferences preferred prepared
  preproduction presentation presented preserve prettier prevention previews previous principal principle priority privileged
  privileges procedure processed processes processing processor producer production products professional profiles programs
  progress prohibited projects prometheus promoted properties property protected protection protocol protocols prototype
  provider providers provision provisioned provisioner publication publisher publishing purchase purposes qualified quantity
  quarterly question quickstart rabbitmq randomly readable readiness readonly realtime received receiver receiving recipient
  recommend recommended reconnect recorded recording recovery recursive redirect redirects reference references regional
  register registered registration registry regression rejected relation relations relationship relative releases reliable
  remaining remember renderer rendering repeated replaced replacement replicas replication repository represent requested
  requests required requirement requirements requires research reserved resolution resolved resolver resource resources response
  responses restarted restored restricted restriction resulting retained retention retrieve returned returning revision rollback
  rotation runtimes sandboxes sanitize satisfied scaffold scalable scenario schedule scheduled scheduler screenshot scripting
  searching secondary secretly sections security segments selected selection selector semantic semantics sendgrid sensitive
  sentence sentinel separate separated separator september sequence sequences serialize serialized serializer serverless
  services sessions settings severity sharding shipping shortcut shutdown signature signatures singleton skeleton snapshot
  snapshots snowflake software solution somebody something specific specification specified spreadsheet springboot stacktrace
  standalone standard standards starting statement statements statistics stopping strategy streaming strength stripped structure
  structured stylesheet subdomain submission submitted subscriber subscription subscriptions substring succeeded successful
  successfully sufficient suggestion supabase superuser supervisor supplied supported suspended symbolic synchronize
  synchronized synthetic template templates temporary terminal terminate terminated terraform territory textarea thousand
  threshold throttle throttling throughput timeouts timestamp timestamps timezone together tokenizer tolerance toolchain
  topology tracking transaction transactions transfer transform transformation transformer transition translate translation
  transport traversal triggered truncate truncated tutorial typescript typically ultimate unauthorized undefined undocumented
  unexpected universal unlimited unlocked unmodified unreachable unsigned unstable unsupported unverified uploaded uppercase
  upstream username usernames utilities utilization validate validated validation validator variable variables variance
  verification verified versioned versions vertical viewport visibility visitors vulnerability warehouse warnings watching
  webhooks webserver websites weekdays whatever whitelist whitespace wildcard wireless withdraw wordpress workflow workflows
  workload workplace workspace workspaces worldwide yourself zookeeper`.split(/\s+/),
);

/** Whether a text is an ordinary word, in any case. */
export const isOrdinary = (text: string): boolean => text.length <= 16 && WORDS.has(text.toLowerCase());
