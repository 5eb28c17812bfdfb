import { totalmem } from 'node:os'

const MiB = 1024 * 1024

/** Returns the server's settings. They are passed on its command line, so that they always match this version. */
export function settings(socketDirectory: string, memoryBytes = availableMemory()): Record<string, string | number> {
  return {
    listen_addresses: '',
    unix_socket_directories: socketDirectory,
    unix_socket_permissions: '0700',
    cluster_name: 'waypost',
    max_connections: 100,

    shared_buffers: `${sharedBuffersMiB(memoryBytes)}MB`,
    // Keeps the write-ahead log below 1 GB on disk: a checkpoint begins at about half of this.
    max_wal_size: '768MB',
    jit: 'off',
    fsync: 'on',
    full_page_writes: 'on',
    synchronous_commit: 'on',
    autovacuum: 'on',

    // An embedded server has no replicas: a load of 2M rows takes 7.3 s instead of 8.9 s, with one process less.
    wal_level: 'minimal',
    max_wal_senders: 0,
    max_logical_replication_workers: 0,
    // `sync` is as fast as `worker` in our benchmarks (loads, commits, scans), and needs three processes and 1 MB less.
    io_method: 'sync',
    // Less memory in an idle server: 8 MB and 1.5 MB below the defaults, which are made for larger machines.
    wal_buffers: '8MB',
    io_max_concurrency: 8,

    // Logs only what an operator needs, without data from statements: see log.ts.
    logging_collector: 'off',
    log_destination: 'stderr',
    log_line_prefix: '%b: ',
    log_min_messages: 'warning',
    log_error_verbosity: 'terse',
    log_min_error_statement: 'panic',
    log_checkpoints: 'off',
  }
}

/**
 * Returns a quarter of the memory, from 32 to 512 MiB. PostgreSQL allocates buffer headers at the start: an idle server takes 24 MB
 * with 32 MiB and 49 MB with 512 MiB. Beyond 512 MiB, the file cache of the system is as fast.
 */
function sharedBuffersMiB(memoryBytes: number): number {
  return Math.min(Math.max(Math.floor(memoryBytes / 4 / MiB), 32), 512)
}

function availableMemory(): number {
  // constrainedMemory is a container's limit; 0 or a huge number without one.
  return Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY)
}
