package io.leasehold.redis.wire;

import io.leasehold.LockName;
import java.util.Optional;

/**
 * What scripts publish to a waiting client: {@code wake <attempt id> <server µs> <lock key>}.
 *
 * <p>Unknown kinds are ignored, so that later versions can send more.
 */
public final class Messages {

    private Messages() {}

    /** The lock that may be worth asking for again, or empty if the message says something else. */
    public static Optional<LockName> wakeUp(String message) {
        String[] parts = message.split(" ", 4);
        if (parts.length < 4 || !parts[0].equals("wake")) {
            return Optional.empty();
        }
        return Optional.ofNullable(KeyLayout.nameOf(parts[3]));
    }
}
