package io.leasehold.spi;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.UnsafeStoreException;
import io.leasehold.spi.toolkit.TokenBase;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Clients of one store agree on the base of its tokens. */
@Tag("quick")
final class TokenBaseTest {

    private final TokenBase base = new TokenBase(7, "zk://h");

    @Test
    void theSameNumberIsAccepted() {
        assertThatCode(() -> base.compare(new TokenBase(7, "another").text(), "node", "/c/@tokens"))
                .doesNotThrowAnyException();
    }

    @Test
    void anotherOneIsRefusedWithWhatToDo() {
        assertThatThrownBy(() -> base.compare("tokenBase=8", "node", "/c/@tokens"))
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageContainingAll(
                        "tokenBase is 7 in the store URI",
                        "node /c/@tokens at zk://h says \"tokenBase=8\"",
                        "change the node");
    }
}
