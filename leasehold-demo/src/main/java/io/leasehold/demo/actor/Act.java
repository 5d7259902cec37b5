package io.leasehold.demo.actor;

import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;

/**
 * The parameters of an act for an actor, as one line of words.
 *
 * @param directory the directory of counter and history
 * @param scheme the kind of lock
 * @param ttl of the lock
 * @param checking whether the counter refuses stale tokens
 * @param uris the store of the lock: the URI for Leasehold, or the nodes
 */
public record Act(Path directory, Scheme scheme, Duration ttl, boolean checking, List<String> uris) {

    /** The lock that all actors request. */
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
