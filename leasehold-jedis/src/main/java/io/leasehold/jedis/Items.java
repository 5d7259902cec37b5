package io.leasehold.jedis;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.util.KeyValue;

/** The items of a reply, in RESP2 or RESP3: texts, numbers, lists and nulls. Pure. */
final class Items {

    private Items() {}

    /**
     * Returns the items of a whole reply. A reply that is not an array has one item; a map has its keys and values in
     * turn.
     */
    static List<Object> of(@Nullable Object answer) {
        List<@Nullable Object> items = new ArrayList<>();
        if (answer instanceof List<?> several) {
            several.forEach(item -> add(items, item));
        } else {
            add(items, answer);
        }
        return items;
    }

    private static void add(List<@Nullable Object> items, @Nullable Object item) {
        if (item instanceof KeyValue<?, ?> pair) {
            add(items, pair.getKey());
            add(items, pair.getValue());
        } else if (item instanceof byte[] bytes) {
            items.add(new String(bytes, StandardCharsets.UTF_8));
        } else if (item instanceof List<?> nested) {
            items.add(of(nested));
        } else if (item instanceof Throwable error) {
            // A script can return an error as an item of a list.
            items.add(String.valueOf(error.getMessage()));
        } else {
            items.add(item);
        }
    }
}
