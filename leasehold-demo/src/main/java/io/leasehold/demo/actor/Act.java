package io.leasehold.demo.actor;

import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;

/**
 * What an actor needs to know before it can act, as one line of words.
 *
 * @param directory where counter and history are
 * @param scheme which lock
 * @param ttl of the lock
 * @param checking whether the counter refuses stale tokens
 * @param uris where the lock is: Leasehold's own URI, or the nodes
 */
public record Act(Path directory, Scheme scheme, Duration ttl, boolean checking, List<String> uris) {

    /** The lock that all ask for. */
    static final String LOCK = "demo:counter";

    private static final int WORDS_BEFORE_URIS = 4;

    /** Copies the list. */
    public Act {
        uris = List.copyOf(uris);
    }

    /** The words. */
    public String words() {
        return URLEncoder.encode(directory.toString(), StandardCharsets.UTF_8) + " " + scheme + " " + ttl.toMillis()
                + " " + checking + " " + String.join(" ", uris);
    }

    static Act of(String[] words) {
        return new Act(
                Path.of(URLDecoder.decode(words[0], StandardCharsets.UTF_8)),
                Scheme.valueOf(words[1]),
                Duration.ofMillis(Long.parseLong(words[2])),
                Boolean.parseBoolean(words[3]),
                Arrays.asList(words).subList(WORDS_BEFORE_URIS, words.length));
    }

    ActorLock open(String label) {
        return switch (scheme) {
            case LEASEHOLD -> new LeaseholdLock(uris.get(0), LOCK, ttl, label);
            case NONE -> new NoLock();
            case REDLOCK_AS_PUBLISHED -> new PublishedRedlock(uris, LOCK, ttl);
            case SETNX_THEN_EXPIRE, GET_THEN_SET, FIXED_VALUE, DELETE_WITHOUT_COMPARE, GET_THEN_DELETE ->
                new BrokenLock(scheme, uris.get(0), LOCK, ttl);
        };
    }
}
