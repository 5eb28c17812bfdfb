-- VPN clients with their certificates and addresses. Collation C: ids and serial numbers are ASCII.
create schema vpn;

-- The VPN's root authority, the certificate of its server and the key that hides the handshake; one row.
create table vpn.installation (
  id integer primary key check (id = 1),
  certificate text not null,
  sealed_key text not null,
  sealed_tls_crypt text not null,
  server_certificate text not null,
  sealed_server_key text not null,
  server_invalid_after timestamptz not null
);

-- A tenant that has VPN clients: its authority below the root, and its range of 4096 addresses.
create table vpn.tenants (
  tenant_id text collate "C" primary key,
  range_start inet not null unique,
  -- Offsets of the first addresses that were never given, in the range and in its last 256 addresses.
  next_device integer not null default 2,
  next_admin integer not null default 1,
  certificate text not null,
  sealed_key text not null,
  serial_number text collate "C" not null,
  -- SHA-256 of the certificate in hexadecimal digits.
  fingerprint text collate "C" not null,
  -- Counts what changes the revocation list.
  revision bigint not null default 1
);

-- Ranges of deleted tenants, with their authorities, which are on the root's revocation list.
create table vpn.retired_tenants (
  serial_number text collate "C" primary key,
  range_start inet not null,
  retired_date timestamptz not null
);

create table vpn.clients (
  id text collate "C" primary key,
  tenant_id text collate "C" not null references vpn.tenants on delete cascade,
  name text not null,
  type text not null check (type in ('admin', 'device')),
  protocol text not null check (protocol in ('tcp', 'udp')),
  state text not null default 'active' check (state in ('active', 'revoked')),
  address inet not null,
  endpoint_id text,
  application text,
  description text not null default '',
  username text,
  ssh_key text,
  certificate text not null,
  sealed_key text not null,
  serial_number text collate "C" not null,
  fingerprint text collate "C" not null,
  invalid_after timestamptz not null,
  created timestamptz not null,
  last_connected timestamptz
);
create unique index clients_address on vpn.clients (address) where state = 'active';
create index clients_newest on vpn.clients (tenant_id, created desc, id);
create index clients_by_endpoint on vpn.clients (tenant_id, endpoint_id) where endpoint_id is not null;

-- Addresses that a client had before.
create table vpn.free_addresses (
  tenant_id text collate "C" not null references vpn.tenants on delete cascade,
  address inet not null,
  type text not null,
  freed_date timestamptz not null,
  primary key (tenant_id, address)
);
create index free_addresses_longest on vpn.free_addresses (tenant_id, type, freed_date, address);

-- Entries of revocation lists; they outlive the client.
create table vpn.revoked_certificates (
  tenant_id text collate "C" not null references vpn.tenants on delete cascade,
  serial_number text collate "C" not null,
  revoked_date timestamptz not null,
  invalid_after timestamptz not null,
  primary key (tenant_id, serial_number)
);

-- The process that runs the server. `beat` changes with every heartbeat; `problem` says why there is no server.
create table vpn.server (
  id integer primary key check (id = 1),
  holder text not null,
  host text not null,
  beat bigint not null,
  beat_date timestamptz not null,
  running boolean not null,
  problem text
);
