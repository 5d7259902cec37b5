package io.leasehold.redis.wire;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.lettuce.core.cluster.SlotHash;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("quick")
class KeyLayoutTest {

    @ParameterizedTest
    @ValueSource(
            strings = {
                "order:1001",
                "a b",
                "}",
                "}x",
                "%",
                "%7D",
                "%25",
                "%257D",
                "100%",
                "a}b",
                "{a}",
                "{}",
                "ünï·ço∂é",
                "🔒",
                "x:fence",
                "x}:fence{y",
                "lock:{x}"
            })
    void everyNameHasItsKeyAndBackInOneSlot(String text) {
        LockName name = LockName.exactly(text);
        String lock = KeyLayout.standard().lock(name);

        assertThat(KeyLayout.standard().nameOf(lock)).isEqualTo(name);
        assertThat(SlotHash.getSlot(KeyLayout.fence(lock))).isEqualTo(SlotHash.getSlot(lock));
        assertThat(SlotHash.getSlot(KeyLayout.queued(lock))).isEqualTo(SlotHash.getSlot(lock));
        assertThat(KeyLayout.standard().nameOf(KeyLayout.fence(lock))).isNull();
        assertThat(KeyLayout.standard().nameOf(KeyLayout.queued(lock))).isNull();
    }

    @Test
    void noTwoNamesShareAKey() {
        Set<String> keys = new HashSet<>();
        List<String> texts = List.of("}", "%7D", "%257D", "%25", "%", "%25257D", "}}", "%7D}", "x", "x}", "{x", "{x}");
        for (String text : texts) {
            keys.add(KeyLayout.standard().lock(LockName.exactly(text)));
        }
        assertThat(keys).hasSameSizeAs(texts);
    }

    @ParameterizedTest
    @ValueSource(strings = {"lock:{}", "lock:{", "lock:x", "other", "lock:{%41}", "lock:{}x}", "lock:{\u0007}"})
    void otherKeysAreNoLocks(String key) {
        assertThat(KeyLayout.standard().nameOf(key)).isNull();
    }

    @ParameterizedTest
    @CsvSource({
        "*, x, true",
        "order:*, order:1, true",
        "order:*, orders, false",
        "?, é, true",
        "?, ab, false",
        "?, }, true",
        "a[b]c, a[b]c, true",
        "a[b]c, abc, false",
        "a\\*, a\\bc, true",
        "}*, }x, true",
        "%*, %x, true",
        "a-b, a-b, true",
        "'', x, false"
    })
    void globsKnowTwoSpecialCharacters(String glob, String name, boolean matches) {
        assertThat(new NameGlob(glob, KeyLayout.standard()).matches(LockName.exactly(name)))
                .isEqualTo(matches);
    }

    /** A scan finds at least the keys of all names that match. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "lock:{*} | order:*   | lock:{order:*}",
                "lock:{*} | ?x        | lock:{*x}",
                "lock:{*} | }a}       | lock:{*a}}",
                "lock:{*} | %a%       | lock:{*a%}",
                "lock:{*} | a[b]^-c   | lock:{a\\[b\\]\\^\\-c}",
                "lock:{*} | a\\b    | lock:{a\\\\b}",
                "a-?:*    | }x*       | a\\-\\?:}x*",
            })
    void aScanIsNarrowedToWhatCanMatch(String template, String glob, String pattern) {
        assertThat(new NameGlob(glob, KeyLayout.of(template)).keyPattern()).isEqualTo(pattern);
    }

    @ParameterizedTest
    @ValueSource(strings = {"lock:{*}", "*", "app:*", "{app}:*", "{*}", "lock:*:held"})
    void aSideKeyIsFoundToStandBesideItsLock(String template) {
        KeyLayout layout = KeyLayout.of(template);
        for (String text : List.of("x", "a:b", "{t}x")) {
            LockName name = LockName.exactly(text);
            if (layout.refusal(name) != null) {
                continue;
            }
            String lock = layout.lock(name);
            assertThat(layout.place(name)).isEqualTo(lock);
            for (String side : List.of(
                    KeyLayout.fence(lock),
                    KeyLayout.queued(lock),
                    KeyLayout.behind(lock),
                    KeyLayout.wanted(lock),
                    KeyLayout.watchers(lock),
                    KeyLayout.readWatchers(lock),
                    KeyLayout.readersWait(lock),
                    KeyLayout.readers(lock))) {
                assertThat(layout.lockBeside(side)).as(side).isEqualTo(lock);
                assertThat(layout.lockBeside(side + "x")).isNull();
            }
            assertThat(layout.lockBeside(lock)).isNull();
        }
        assertThat(layout.lockBeside(":fence")).isNull();
        assertThat(layout.isAlone()).isEqualTo(template.equals("lock:{*}"));
    }

    @Test
    void aScanFindsEveryKeyOfALayout() {
        assertThat(KeyLayout.standard().scanPattern()).isEqualTo("lock:*");
        assertThat(KeyLayout.of("app:{*}").scanPattern()).isEqualTo("app:{*");
        assertThat(KeyLayout.of("{a-b}:*").scanPattern()).isEqualTo("{a\\-b}:*");
        assertThat(KeyLayout.of("app:*").scanPattern())
                .as("side keys begin with a brace")
                .isEqualTo("*");
    }

    @Test
    void theKeysOfPermitsAreKnown() {
        for (String template : List.of("lock:{*}", "app:{*}", "app:*")) {
            KeyLayout layout = KeyLayout.of(template);
            for (String key : layout.keysOfPermits(LockName.exactly("a:1").asPermits())) {
                assertThat(layout.isOfPermits(key)).as(key).isTrue();
                assertThat(layout.isOfPermits(key + "x")).as(key).isFalse();
                assertThat(layout.isOfPermits("x" + key)).as(key).isFalse();
            }
            assertThat(layout.isOfPermits(layout.lock(LockName.exactly("a:1")))).isFalse();
            assertThat(layout.isOfPermits("permits:other")).isFalse();
        }
    }

    @Test
    void keysBesideLocksHaveTheirPlaces() {
        assertThat(KeyLayout.client("host/1")).isEqualTo("lock:client:host/1");
        String marker = KeyLayout.marker();
        assertThat(KeyLayout.marker("")).isEqualTo(marker);
        assertThat(KeyLayout.marker("tag")).isEqualTo(marker + ":{tag}");
        assertThat(KeyLayout.isMarker(marker)).isTrue();
        assertThat(KeyLayout.isMarker(marker + ":{tag}")).isTrue();
        assertThat(KeyLayout.isMarker(marker + "x")).isFalse();
    }

    @Test
    void layoutsAreEqualByTheirTemplate() {
        assertThat(KeyLayout.of("app:{*}"))
                .isEqualTo(KeyLayout.of("app:{*}"))
                .hasSameHashCodeAs(KeyLayout.of("app:{*}"));
        assertThat(KeyLayout.of("app:*")).isNotEqualTo(KeyLayout.of("app:*x")).isNotEqualTo(KeyLayout.of("ap:*"));
        assertThat(KeyLayout.of("app:*")).isNotEqualTo("app:*").hasToString("app:*");
    }
}
