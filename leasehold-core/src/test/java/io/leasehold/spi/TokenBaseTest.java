package io.leasehold.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.UnsafeStoreException;
import io.leasehold.spi.toolkit.TokenBase;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Clients of one store agree on the base of its tokens. */
@Tag("quick")
final class TokenBaseTest {

    private final TokenBase base = new TokenBase(7, false, "zk://h");

    @Test
    void theSameNumberIsAccepted() {
        assertThatCode(() -> base.compare(new TokenBase(7, false, "another").text(), "node", "/c/@tokens"))
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

    @Test
    void clientsWithReadersAndWithoutAreToldApart() {
        TokenBase readers = new TokenBase(7, true, "zk://h");
        assertThatThrownBy(() -> base.compare(readers.text(), "node", "/c/@tokens"))
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageContainingAll(
                        "tokenBase is 7 in the store URI, without readers=true",
                        "says \"tokenBase=7 readers=true\"",
                        "change the node to \"tokenBase=7\"");
        assertThatThrownBy(() -> readers.compare(base.text(), "key", "@tokens"))
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageContaining("with readers=true");
    }

    @Test
    void theTokenOfADowngradedReaderIsBetweenTwoNeighbours() {
        TokenBase readers = new TokenBase(7, true, "zk://h");
        assertThat(readers.token(100, 0)).isEqualTo(1607);
        assertThat(readers.token(100, 1)).isEqualTo(1608).isLessThan(readers.token(101, 0));
        assertThat(base.token(100, 0)).isEqualTo(107);
    }
}
