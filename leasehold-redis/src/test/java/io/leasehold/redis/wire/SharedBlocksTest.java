package io.leasehold.redis.wire;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** A script is sent whole, so what several of them need stands in each; it must be the same text. */
class SharedBlocksTest {

    private static final Pattern BLOCK = Pattern.compile("(?s)-- shared: (\\w+)\\n(.*?)-- end shared\\n");

    @Test
    void blocksOfOneNameAreOneText() {
        Map<String, String> first = new HashMap<>();
        Map<String, Integer> seen = new HashMap<>();
        for (LuaScript script : List.of(
                LuaScript.ACQUIRE,
                LuaScript.ACQUIRE_ALL,
                LuaScript.RELEASE,
                LuaScript.RAISE_FENCE,
                LuaScript.RENEW,
                LuaScript.INSPECT,
                LuaScript.WAITERS,
                LuaScript.FORCE_RELEASE,
                LuaScript.MEMBER_ACQUIRE,
                LuaScript.MEMBER_RELEASE,
                LuaScript.MEMBER_BIRTH)) {
            Matcher blocks = BLOCK.matcher(script.text());
            while (blocks.find()) {
                String known = first.putIfAbsent(blocks.group(1), blocks.group(2));
                assertThat(known == null || known.equals(blocks.group(2)))
                        .as("block %s of %s", blocks.group(1), script)
                        .isTrue();
                seen.merge(blocks.group(1), 1, Integer::sum);
            }
        }
        assertThat(seen).containsOnlyKeys("numbers", "holder", "queue", "life", "watchers", "tell");
        assertThat(seen.values()).allMatch(count -> count >= 2);
    }
}
