// Targets that no user may choose, for every call that takes a URL.

export const hostileTargets: readonly string[] = [
  // Other schemes, and texts that parsers read differently.
  ...[
    'http://hooks.example.com/',
    'ftp://hooks.example.com/',
    'file:///etc/passwd',
    'data:text/plain,x',
    'javascript:alert(1)',
  ],
  ...[
    'gopher://hooks.example.com/',
    'ws://hooks.example.com/',
    'blob:https://hooks.example.com/x',
    '//hooks.example.com/',
    '/hook',
    '',
  ],
  ...['https:hooks.example.com', 'https:/hooks.example.com', 'https:///hooks.example.com/', 'https://'],
  ...[
    'https:\\\\hooks.example.com/',
    'https://hooks.example.com\\@127.0.0.1/',
    'https://hooks.exam\tple.com/',
    ' https://hooks.example.com/',
  ],
  ...[
    'https://hooks.example.com/\r\nHost: x',
    'https://hooks.example.com/\u202ex',
    `https://hooks.example.com/${'a'.repeat(2048)}`,
  ],
  // Credentials and fragments.
  ...[
    'https://user@hooks.example.com/',
    'https://user:pass@hooks.example.com/',
    'https://@hooks.example.com/',
    'https://:@hooks.example.com/',
  ],
  ...['https://127.0.0.1#@hooks.example.com/', 'https://hooks.example.com/#x', 'https://hooks.example.com/#'],
  // Ports.
  ...[
    'https://hooks.example.com:0/',
    'https://hooks.example.com:22/',
    'https://hooks.example.com:25/',
    'https://hooks.example.com:80/',
  ],
  ...[
    'https://hooks.example.com:1023/',
    'https://hooks.example.com:2375/',
    'https://hooks.example.com:3306/',
    'https://hooks.example.com:5432/',
  ],
  ...[
    'https://hooks.example.com:6000/',
    'https://hooks.example.com:6379/',
    'https://hooks.example.com:6667/',
    'https://hooks.example.com:9200/',
  ],
  ...[
    'https://hooks.example.com:11211/',
    'https://hooks.example.com:27017/',
    'https://hooks.example.com:65536/',
  ],
  // Loopback, in every notation.
  ...[
    'https://127.0.0.1/',
    'https://127.1/',
    'https://127.0.1/',
    'https://2130706433/',
    'https://0x7f000001/',
    'https://0x7f.1/',
  ],
  ...[
    'https://0177.0.0.1/',
    'https://017700000001/',
    'https://127.000.000.001/',
    'https://127.0.0.1./',
    'https://127.255.255.254/',
  ],
  ...['https://%31%32%37.0.0.1/', 'https://①②⑦.⓪.⓪.①/', 'https://127。0。0。1/', 'https://１２７.0.0.1/'],
  ...['https://0/', 'https://0.0.0.0/', 'https://0.1.2.3/'],
  ...[
    'https://[::]/',
    'https://[::1]/',
    'https://[0:0:0:0:0:0:0:1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[::ffff:7f00:1]/',
  ],
  ...[
    'https://[::127.0.0.1]/',
    'https://[64:ff9b::7f00:1]/',
    'https://[64:ff9b:1::7f00:1]/',
    'https://[2002:7f00:1::]/',
  ],
  ...[
    'https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/',
    'https://[::ffff:0:127.0.0.1]/',
    'https://[fe80::1%25eth0]/',
    'https://[fe80::1%eth0]/',
  ],
  // Private, link-local, carrier-grade NAT, and what clouds answer themselves.
  ...[
    'https://10.0.0.1/',
    'https://172.16.0.1/',
    'https://172.31.255.255/',
    'https://192.168.1.1/',
    'https://0xa.0.0.1/',
    'https://167772161/',
  ],
  ...[
    'https://169.254.1.1/',
    'https://100.64.0.1/',
    'https://100.127.255.255/',
    'https://[::ffff:10.0.0.1]/',
    'https://[fc00::1]/',
    'https://[fd12::1]/',
  ],
  ...['https://[fe80::1]/', 'https://[febf::1]/', 'https://[fec0::1]/'],
  ...[
    'https://169.254.169.254/',
    'https://2852039166/',
    'https://0xa9fea9fe/',
    'https://0251.0376.0251.0376/',
    'https://[::ffff:a9fe:a9fe]/',
  ],
  ...[
    'https://169.254.170.2/',
    'https://100.100.100.200/',
    'https://192.0.0.192/',
    'https://168.63.129.16/',
    'https://[fd00:ec2::254]/',
  ],
  ...[
    'https://metadata.google.internal/',
    'https://metadata.google.internal./',
    'https://instance-data.ec2.internal/',
  ],
  // Multicast, documentation, benchmarking and otherwise reserved.
  ...[
    'https://224.0.0.1/',
    'https://239.255.255.255/',
    'https://240.0.0.1/',
    'https://255.255.255.255/',
    'https://192.0.2.1/',
  ],
  ...[
    'https://198.51.100.1/',
    'https://203.0.113.1/',
    'https://198.18.0.1/',
    'https://192.88.99.1/',
    'https://[ff02::1]/',
  ],
  ...[
    'https://[2001:db8::1]/',
    'https://[3fff::1]/',
    'https://[100::1]/',
    'https://[5f00::1]/',
    'https://[4000::1]/',
  ],
  // Names of the host and of local networks.
  ...[
    'https://localhost/',
    'https://LOCALHOST/',
    'https://localhost./',
    'https://x.localhost/',
    'https://%6cocalhost/',
    'https://ⓛocalhost/',
  ],
  ...[
    'https://localhost.localdomain/',
    'https://printer.local/',
    'https://db.internal/',
    'https://router.home.arpa/',
    'https://nas.lan/',
  ],
  ...[
    'https://wiki.corp/',
    'https://intranet/',
    'https://kubernetes/',
    'https://hooks..example.com/',
    'https://.example.com/',
  ],
  ...[`https://${'a'.repeat(64)}.example.com/`, `https://${'a.'.repeat(130)}com/`],
];

/** Targets that a user may choose. */
export const publicTargets: readonly string[] = [
  ...[
    'https://hooks.example.com',
    'https://hooks.example.com/',
    'https://hooks.example.com/a?b=c',
    'https://hooks.example.com:443/',
  ],
  ...[
    'https://hooks.example.com:8443/',
    'https://hooks.example.com:1024/',
    'HTTPS://Hooks.Example.com/A',
    'https://hooks.example.com./',
  ],
  ...[
    'https://bücher.example.com/',
    'https://8.8.8.8/',
    'https://[2606:4700::1111]/',
    'https://a-b_c.example.com/@x',
  ],
];
