package io.leasehold.redis.wire;

import java.util.HashMap;
import java.util.Map;

/** The text of an {@code INFO} answer. Pure. */
public final class InfoText {

    private InfoText() {}

    /** Reads its {@code name:value} lines. */
    public static Map<String, String> fields(String info) {
        Map<String, String> fields = new HashMap<>();
        info.lines().forEach(line -> {
            int colon = line.indexOf(':');
            if (colon > 0) {
                fields.put(line.substring(0, colon), line.substring(colon + 1).strip());
            }
        });
        return fields;
    }
}
