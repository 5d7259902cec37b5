package io.leasehold.redis.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.LockName;
import io.lettuce.core.cluster.SlotHash;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of the keys of locks and of their side keys with other templates than {@code lock:{*}}. */
@Tag("quick")
class KeyTemplateTest {

    private static final List<UnaryOperator<String>> SIDE_KEYS = List.of(
            KeyLayout::fence, KeyLayout::queued, KeyLayout::watchers, KeyLayout::readWatchers, KeyLayout::readersWait);

    @ParameterizedTest
    @CsvSource({
        "lock:{*},   order:1, lock:{order:1}, lock:{order:1}:fence",
        "app:{*},    order:1, app:{order:1},  app:{order:1}:fence",
        "app:{*}:v2, }x,      app:{%7Dx}:v2,  app:{%7Dx}:v2:fence",
        "*,          order:1, order:1,        {order:1}:fence",
        "*,          a b/ü☂,  a b/ü☂,         {a b/ü☂}:fence",
        "*,          %7Dx,    %7Dx,           {%7Dx}:fence",
        "*,          a{b}c,   a{b}c,          a{b}c:fence",
        "*,          a{b,     a{b,            {a{b}:fence",
        "*,          x:fence, x:fence,        {x:fence}:fence",
        "app:*,      order:1, app:order:1,    {app:order:1}:fence",
        "app:*,      {u1}:x,  app:{u1}:x,     app:{u1}:x:fence",
        "{app}:*,    order:1, {app}:order:1,  {app}:order:1:fence",
        "{app}:*,    x}y,     {app}:x}y,      {app}:x}y:fence"
    })
    void placesNames(String template, String name, String lock, String fence) {
        KeyLayout layout = KeyLayout.of(template);

        assertThat(layout.lock(LockName.exactly(name))).isEqualTo(lock);
        assertThat(KeyLayout.fence(lock)).isEqualTo(fence);
        assertThat(layout.nameOf(lock)).isEqualTo(LockName.exactly(name));
        assertThat(layout).hasToString(template).isEqualTo(KeyLayout.of(template));
    }

    @ParameterizedTest
    @CsvSource({
        "*, {x}:fence,    side key",
        "*, {x}:watchers, side key",
        "*, {x}:read-watchers, side key",
        "*, {x}:readers-wait, side key",
        "*, a{b}c:queued, side key",
        "*, {x}:y:queued, side key",
        "*, {x},          those of the key \"x\"",
        "*, a}b,          slot",
        "*, {}x,          slot",
        "*, }x,           slot",
        "*, rw:{x},       another kind",
        "*, permits:{x},  another kind",
        "*, lock:member,  marked",
        "lock:*, member,  marked",
        "app:*, a}b,      slot"
    })
    void refusesNamesThatWouldMeetSomethingElse(String template, String name, String reason) {
        KeyLayout layout = KeyLayout.of(template);

        assertThat(layout.refusal(LockName.exactly(name)))
                .contains("lock \"" + name + "\"")
                .contains(template)
                .contains(reason)
                .contains("lock:{*}");
        assertThatThrownBy(() -> layout.lock(LockName.exactly(name))).isInstanceOf(IllegalArgumentException.class);
        assertThat(KeyLayout.standard().refusal(LockName.exactly(name))).isNull();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "lock",
                "lock:{}",
                "*:*",
                "{*",
                "*}",
                "a{b*",
                "{a}{*}",
                "{*}{b}",
                "a b*",
                "\n*",
                "rw:{*}",
                "permits:*",
                "{*}:fence",
                "*:watchers"
            })
    void refusesTemplates(String template) {
        assertThatThrownBy(() -> KeyLayout.of(template))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("key template")
                .hasMessageNotContaining("\n");
    }

    @Test
    void aTemplateHasAnEndAndIsShownWithoutControls() {
        assertThat(KeyLayout.of("*" + "x".repeat(199))).hasToString("*" + "x".repeat(199));
        assertThatThrownBy(() -> KeyLayout.of("*" + "x".repeat(200)))
                .hasMessageContaining("key template \"*" + "x".repeat(199) + "\" may have up to 200 characters");
        assertThatThrownBy(() -> KeyLayout.of("a\u0007*"))
                .hasMessageContaining(
                        "key template \"a?*\" may have up to 200 characters, without blanks and controls");
    }

    @Test
    void aKeyThatIsTooShortForTheTemplateIsNoLock() {
        KeyLayout layout = KeyLayout.of("aa*aa");
        for (String key : List.of("aa", "aaa", "aaaa")) {
            assertThat(layout.nameOf(key)).isNull();
        }
        assertThat(layout.nameOf("aaxaa")).isEqualTo(LockName.exactly("x"));
    }

    /** Names with all special characters: no two locks share a key, and all keys of one lock share a slot. */
    @ParameterizedTest
    @ValueSource(strings = {"lock:{*}", "*", "app:*", "{app}:*", "{*}"})
    void noTwoLocksShareAKey(String template) {
        KeyLayout layout = KeyLayout.of(template);
        Map<String, String> owners = new HashMap<>();
        int used = 0;
        for (String text : names()) {
            LockName name = LockName.exactly(text);
            if (layout.refusal(name) != null) {
                continue;
            }
            used++;
            String lock = layout.lock(name);
            List<String> keys = new ArrayList<>(List.of(lock));
            SIDE_KEYS.forEach(side -> keys.add(side.apply(lock)));
            for (String key : keys) {
                assertThat(owners.put(key, text)).as("%s of %s", key, text).isNull();
                assertThat(SlotHash.getSlot(key)).as(key).isEqualTo(SlotHash.getSlot(lock));
                assertThat(layout.nameOf(key)).as(key).isEqualTo(key.equals(lock) ? name : null);
            }
        }
        assertThat(used).isGreaterThan(100);
    }

    private static List<String> names() {
        List<String> names = new ArrayList<>();
        List<String> grown = List.of("");
        for (int length = 1; length <= 4; length++) {
            List<String> longer = new ArrayList<>();
            for (String start : grown) {
                for (String next : List.of("{", "}", "x", "%7D", ":fence")) {
                    longer.add(start + next);
                }
            }
            names.addAll(longer);
            grown = longer;
        }
        return names;
    }

    @Test
    void saysWhatAnAclNeeds() {
        assertThat(KeyLayout.standard().keyRights()).isEqualTo("~lock:{*");
        assertThat(KeyLayout.of("app:*").keyRights()).isEqualTo("~app:* ~{app:*");
        assertThat(KeyLayout.of("*").keyRights()).isEqualTo("~*");
        assertThat(KeyLayout.of("{app}:*").keyRights()).isEqualTo("~{app}:*");
    }

    @ParameterizedTest
    @CsvSource({"*, order:*, order:1, true", "*, }*, x, false", "app:*, o?, ox, true", "{*}, }*, }x, true"})
    void globsAreOverNames(String template, String glob, String name, boolean matches) {
        NameGlob pattern = new NameGlob(glob, KeyLayout.of(template));
        assertThat(pattern.matches(LockName.exactly(name))).isEqualTo(matches);
        assertThat(pattern.keyPattern()).startsWith(template.substring(0, template.indexOf('*')));
    }
}
