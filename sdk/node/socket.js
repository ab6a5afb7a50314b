// The socket that Corral hands over.
'use strict'

/** The socket that is handed over, as `sd_listen_fds` has it. */
const DESCRIPTOR = 3
const DESCRIPTOR_NAME = 'http'

/** Whether this process was handed one, in use or not. */
function isHandedOver () {
  const { LISTEN_FDS, LISTEN_FDNAMES, LISTEN_PID } = process.env
  return LISTEN_FDS === '1' && LISTEN_FDNAMES === DESCRIPTOR_NAME && LISTEN_PID === String(process.pid)
}

module.exports = { DESCRIPTOR, isHandedOver }
