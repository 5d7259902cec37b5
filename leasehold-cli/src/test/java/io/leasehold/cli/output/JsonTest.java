package io.leasehold.cli.output;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests that the output is one line of ASCII that every JSON parser accepts. */
@Tag("quick")
class JsonTest {

    @Test
    void writesEveryKindOfValue() {
        Map<String, @Nullable Object> map = new LinkedHashMap<>();
        map.put("text", "a");
        map.put("none", null);
        map.put("yes", true);
        map.put("least", Long.MIN_VALUE);
        map.put("list", Arrays.asList(1, null, "b", List.of(), Map.of()));
        map.put("map", Map.of("kind", Kind.SOME));

        assertThat(Json.of(map))
                .isEqualTo("{\"text\":\"a\",\"none\":null,\"yes\":true,\"least\":-9223372036854775808,"
                        + "\"list\":[1,null,\"b\",[],{}],\"map\":{\"kind\":\"SOME\"}}");
        assertThat(Json.of(null)).isEqualTo("null");
    }

    @Test
    void escapesWhatIsNotPlainAscii() {
        assertThat(Json.of("\"\\/\n\r\t\b\u0000\u001b\u007f"))
                .isEqualTo("\"\\\"\\\\/\\n\\r\\t\\u0008\\u0000\\u001b\\u007f\"");
        assertThat(Json.of("\u00e4\u2028\ud83d\ude80\ud83d")).isEqualTo("\"\\u00e4\\u2028\\ud83d\\ude80\\ud83d\"");
        assertThat(Json.of(" ~")).as("the first and the last that are plain").isEqualTo("\" ~\"");
        assertThat(Json.of(Map.of("a\"b", 1))).isEqualTo("{\"a\\\"b\":1}");
    }

    /** Texts may contain secrets; words and the names of fields do not. */
    @Test
    void changesTextsAndNothingElse() {
        Map<String, @Nullable Object> map = new LinkedHashMap<>();
        map.put("key", "key");
        map.put("word", new Json.Word("key"));
        map.put("kind", Kind.SOME);

        assertThat(Json.of(map, text -> "hidden")).isEqualTo("{\"key\":\"hidden\",\"word\":\"key\",\"kind\":\"SOME\"}");
    }

    @Test
    void refusesWhatItCannotWrite() {
        assertThatThrownBy(() -> Json.of(List.of(1.5)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("java.lang.Double");
    }

    private enum Kind {
        SOME
    }
}
