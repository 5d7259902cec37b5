package io.leasehold.redis.wire;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A command that is not a script, with the function that reads its answer. It is independent of the client library.
 *
 * @param name the name of the command
 * @param arguments the arguments, each of which is sent as UTF-8
 * @param reading reads the items of the answer: strings, {@link Long}s, lists and nulls. An answer that is not an array
 *     has one item. Never returns null
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

    /**
     * {@code CLIENT TRACKING ON}: from now on the server reports changes to keys that are read over this connection.
     */
    public static final PlainCommand<String> TRACK = of("CLIENT", PlainCommand::text, "TRACKING", "ON");

    /** {@code CLIENT INFO}: the facts of this connection, as the server sees it. */
    public static final PlainCommand<String> CLIENT_INFO = of("CLIENT", PlainCommand::text, "INFO");

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

    /** {@code WAIT}: the number of replicas that have all earlier writes. */
    public static PlainCommand<Long> waitForReplicas(int replicas, long timeoutMillis) {
        return of("WAIT", PlainCommand::number, Integer.toString(replicas), Long.toString(timeoutMillis));
    }

    /** {@code PTTL}: the remaining ttl in milliseconds, -1 if the key does not expire, -2 if it does not exist. */
    public static PlainCommand<Long> pttl(String key) {
        return of("PTTL", PlainCommand::number, key);
    }

    /** {@code MGET}: the value of each key, or null if the key does not exist or has another type. */
    public static PlainCommand<List<@Nullable String>> mget(String... keys) {
        return of("MGET", PlainCommand::texts, keys);
    }

    /** {@code PUBLISH}: the number of receivers. */
    public static PlainCommand<Long> publish(String channel, String message) {
        return of("PUBLISH", PlainCommand::number, channel, message);
    }

    /** {@code SET} with a ttl. */
    public static PlainCommand<String> set(String key, String value, long ttlMillis) {
        return of("SET", PlainCommand::done, key, value, "PX", Long.toString(ttlMillis));
    }

    /** {@code SET} with a ttl, if the key does not exist: {@code OK}, or an empty text if the key exists. */
    public static PlainCommand<String> setIfFree(String key, String value, long ttlMillis) {
        return of("SET", PlainCommand::done, key, value, "PX", Long.toString(ttlMillis), "NX");
    }

    /** A command that deletes a key if it has this value: the number of deleted keys. */
    static PlainCommand<Long> deleteIfEqual(String name, String... arguments) {
        return of(name, PlainCommand::number, arguments);
    }

    /** One {@code SCAN} step over the keys that match a pattern. */
    public static PlainCommand<Step> scan(String cursor, String pattern, int count) {
        return of("SCAN", PlainCommand::step, cursor, "MATCH", pattern, "COUNT", Integer.toString(count));
    }

    /**
     * The keys of one step of a scan.
     *
     * @param cursor the start of the next step
     */
    public record Step(String cursor, List<String> keys) {

        /** The cursor of the first step. */
        public static final String FIRST = "0";

        /** Whether this was the last step. */
        public boolean isLast() {
            return cursor.equals(FIRST);
        }
    }

    /** Asks a Sentinel for the host and port of a master; it answers nothing if it does not know the master. */
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
