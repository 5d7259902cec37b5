package io.leasehold.servers;

import java.io.IOException;

/** An error reply of a server; the message is the reply without its leading minus, for example {@code NOAUTH …}. */
final class RespErrorException extends IOException {
    private static final long serialVersionUID = 1L;

    private final String code;

    RespErrorException(String reply) {
        super(reply);
        code = reply.split(" ", 2)[0];
    }

    /** The word that identifies the kind of error, for example {@code NOAUTH}. */
    String code() {
        return code;
    }
}
