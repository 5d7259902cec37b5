package io.leasehold.redis.wire;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A command that is no script, and how its answer is read: what Leasehold says to a server, in whatever client library.
 *
 * @param name of the command
 * @param arguments each sent as UTF-8
 * @param reading of the items of the answer: strings, {@link Long}s, lists and nulls; an answer that is no array has one item. Never
 *     gives null
 */
@SuppressWarnings("ArrayRecordComponent") // made for each request, compared by none
public record PlainCommand<T>(String name, String[] arguments, Function<List<Object>, T> reading) {

    /** {@code TIME}: seconds and microseconds. */
    public static final PlainCommand<List<String>> TIME = new PlainCommand<>("TIME", none(), PlainCommand::texts);

    /** {@code INFO}. */
    public static final PlainCommand<String> INFO = new PlainCommand<>("INFO", none(), PlainCommand::text);

    /** {@code CLUSTER SLOTS}. */
    public static final PlainCommand<List<Object>> CLUSTER_SLOTS = of("CLUSTER", Function.identity(), "SLOTS");

    /** {@code CLUSTER INFO}. */
    public static final PlainCommand<String> CLUSTER_INFO = of("CLUSTER", PlainCommand::text, "INFO");

    /** {@code CLIENT TRACKING ON}: from now on the server tells of changes to what is read over this connection. */
    public static final PlainCommand<String> TRACK = of("CLIENT", PlainCommand::text, "TRACKING", "ON");

    /** {@code PING}. */
    public static final PlainCommand<String> PING = new PlainCommand<>("PING", none(), PlainCommand::text);

    private static final String UNREADABLE = "an answer that no server gives: ";

    private static String[] none() {
        return new String[0];
    }

    private static <T> PlainCommand<T> of(String name, Function<List<Object>, T> reading, String... arguments) {
        return new PlainCommand<>(name, arguments, reading);
    }

    /** One section of {@code INFO}. */
    public static PlainCommand<String> info(String section) {
        return of("INFO", PlainCommand::text, section);
    }

    /** {@code CONFIG GET} with a pattern. */
    public static PlainCommand<Map<String, String>> configGet(String pattern) {
        return of("CONFIG", PlainCommand::pairs, "GET", pattern);
    }

    /** {@code WAIT}: how many replicas have what was written before. */
    public static PlainCommand<Long> waitForReplicas(int replicas, long timeoutMillis) {
        return of("WAIT", PlainCommand::number, Integer.toString(replicas), Long.toString(timeoutMillis));
    }

    /** {@code PTTL}: what is left in milliseconds, -1 if that is for ever, -2 if there is no such key. */
    public static PlainCommand<Long> pttl(String key) {
        return of("PTTL", PlainCommand::number, key);
    }

    /** {@code MGET}: each value, or nothing, also for a key of another type. */
    public static PlainCommand<List<@Nullable String>> mget(String... keys) {
        return of("MGET", PlainCommand::texts, keys);
    }

    /** {@code PUBLISH}: how many heard it. */
    public static PlainCommand<Long> publish(String channel, String message) {
        return of("PUBLISH", PlainCommand::number, channel, message);
    }

    /** {@code SET} with a ttl. */
    public static PlainCommand<String> set(String key, String value, long ttlMillis) {
        return of("SET", PlainCommand::done, key, value, "PX", Long.toString(ttlMillis));
    }

    /** {@code SET} with a ttl, if there is no such key: {@code OK}, or an empty text if there is one. */
    public static PlainCommand<String> setIfFree(String key, String value, long ttlMillis) {
        return of("SET", PlainCommand::done, key, value, "PX", Long.toString(ttlMillis), "NX");
    }

    /** A command of the server that deletes a key if it has this value: how many it has deleted. */
    static PlainCommand<Long> deleteIfEqual(String name, String... arguments) {
        return of(name, PlainCommand::number, arguments);
    }

    /** A step of a walk over the keys that match a pattern. */
    public static PlainCommand<Step> scan(String cursor, String pattern, int count) {
        return of("SCAN", PlainCommand::step, cursor, "MATCH", pattern, "COUNT", Integer.toString(count));
    }

    /**
     * The keys of one step of a scan.
     *
     * @param cursor where the next one begins
     */
    public record Step(String cursor, List<String> keys) {

        /** Where every walk begins. */
        public static final String FIRST = "0";

        /** Whether it was the last one. */
        public boolean isLast() {
            return cursor.equals(FIRST);
        }
    }

    /** Where a Sentinel says that the master is: host and port, or nothing if it knows no such master. */
    public static PlainCommand<List<@Nullable String>> masterAddress(String master) {
        return of("SENTINEL", PlainCommand::texts, "get-master-addr-by-name", master);
    }

    /** Asks a Sentinel for its facts about a master. */
    public static PlainCommand<Map<String, String>> master(String master) {
        return of("SENTINEL", PlainCommand::pairs, "master", master);
    }

    /** Asks a Sentinel for its facts about each of its masters. */
    public static PlainCommand<List<Map<String, String>>> masters() {
        return of(
                "SENTINEL",
                items -> items.stream()
                        .map(PlainCommand::list)
                        .map(PlainCommand::pairs)
                        .toList(),
                "masters");
    }

    private static List<Object> list(Object item) {
        if (item instanceof List<?> nested) {
            return new ArrayList<>(nested);
        }
        throw new IllegalArgumentException(UNREADABLE + "no list");
    }

    private static String text(List<Object> items) {
        if (items.size() == 1 && items.get(0) instanceof String text) {
            return text;
        }
        throw new IllegalArgumentException(UNREADABLE + "no text");
    }

    private static String done(List<Object> items) {
        return items.get(0) == null ? "" : text(items);
    }

    private static Long number(List<Object> items) {
        if (items.size() == 1 && items.get(0) instanceof Long number) {
            return number;
        }
        throw new IllegalArgumentException(UNREADABLE + "no number");
    }

    private static List<String> texts(List<Object> items) {
        List<String> texts = new ArrayList<>(items.size());
        items.forEach(item -> texts.add((String) item));
        return texts;
    }

    private static Map<String, String> pairs(List<Object> items) {
        Map<String, String> pairs = new LinkedHashMap<>();
        for (int i = 0; i + 1 < items.size(); i += 2) {
            pairs.put((String) items.get(i), (String) items.get(i + 1));
        }
        return pairs;
    }

    private static Step step(List<Object> items) {
        return new Step((String) items.get(0), texts(list(items.get(1))));
    }
}
