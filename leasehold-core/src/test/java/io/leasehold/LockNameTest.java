package io.leasehold;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Names are valid or refused at the door; parts cannot change the structure of a name. */
@Tag("quick")
final class LockNameTest {

    @Test
    void aTemplateIsFilledFromLeftToRight() {
        LockName name = LockName.of("order:{id}:line:{n}", 1001, 7);
        assertThat(name.text()).isEqualTo("order:1001:line:7");
        assertThat(name.template()).isEqualTo("order:{id}:line:{n}");
    }

    @Test
    void partsCannotPretendToBeStructure() {
        assertThat(LockName.of("order:{id}", "1:admin/{x}%").text()).isEqualTo("order:1%3Aadmin%2F%7Bx%7D%25");
        assertThat(LockName.of("a:{x}:{y}", "b:c", "d")).isNotEqualTo(LockName.of("a:{x}:{y}", "b", "c:d"));
    }

    @Test
    void aBlankOrMissingPartIsRefused() {
        assertThatThrownBy(() -> LockName.of("order:{id}", " "))
                .hasMessageContaining("part 1")
                .hasMessageContaining("blank");
        assertThatThrownBy(() -> LockName.of("order:{id}", (Object) null)).hasMessageContaining("null");
        assertThatThrownBy(() -> LockName.of("order:{id}")).hasMessageContaining("0 part(s)");
        assertThatThrownBy(() -> LockName.of("order", 1)).hasMessageContaining("1 part(s)");
        assertThatThrownBy(() -> LockName.of("order:{id", 1)).hasMessageContaining("without '}'");
    }

    @ParameterizedTest
    @ValueSource(strings = {"x", "order:1001", "mit Leerzeichen", "订单:1001", "{}", "}{", "*?[", "🔒", "%"})
    void anExactNameIsTakenAsItIs(String text) {
        assertThat(LockName.exactly(text).text()).isEqualTo(text);
        assertThat(LockName.exactly(text).template()).isNull();
    }

    @Test
    void whatIsNoNameIsRefusedWithTheReason() {
        assertThatThrownBy(() -> LockName.exactly("")).hasMessageContaining("empty or blank");
        assertThatThrownBy(() -> LockName.exactly("  ")).hasMessageContaining("empty or blank");
        assertThatThrownBy(() -> LockName.exactly("a\nb")).hasMessageContaining("U+000A at index 1");
        assertThatThrownBy(() -> LockName.exactly("a\u001b[2J"))
                .hasMessageContaining("U+001B")
                .hasMessageNotContaining("\u001b");
        assertThatThrownBy(() -> LockName.exactly("a\ud800")).hasMessageContaining("surrogate");
        assertThatThrownBy(() -> LockName.exactly("订".repeat(342)))
                .hasMessageContaining("1026 bytes")
                .hasMessageContaining("1024");
        assertThat(LockName.exactly("a".repeat(LockName.MAX_BYTES)).text()).hasSize(1024);
    }

    @Test
    void namesAreEqualByTheirTexts() {
        assertThat(LockName.of("order:{id}", 1))
                .isEqualTo(LockName.exactly("order:1"))
                .hasToString("order:1");
        assertThat(LockName.exactly("a")).isLessThan(LockName.exactly("b"));
    }
}
