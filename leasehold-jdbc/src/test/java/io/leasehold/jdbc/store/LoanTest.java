package io.leasehold.jdbc.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.jdbc.dialect.Dialect;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A connection is returned in its original state; the tests check the calls to its driver. */
@Tag("quick")
class LoanTest {

    private final List<String> calls = new ArrayList<>();
    private int networkTimeout;
    private boolean autoCommit = true;
    private boolean readOnly;
    private String fails = "";

    private final Connection connection = (Connection) Proxy.newProxyInstance(
            LoanTest.class.getClassLoader(), new Class<?>[] {Connection.class}, (proxy, method, arguments) -> {
                if (method.getName().equals(fails)) {
                    throw new SQLFeatureNotSupportedException(fails);
                }
                return switch (method.getName()) {
                    case "getNetworkTimeout" -> networkTimeout;
                    case "setNetworkTimeout" -> {
                        networkTimeout = (int) arguments[1];
                        yield said("timeout " + networkTimeout);
                    }
                    case "isReadOnly" -> readOnly;
                    case "setReadOnly" -> {
                        readOnly = (boolean) arguments[0];
                        yield said("readOnly " + readOnly);
                    }
                    case "getAutoCommit" -> autoCommit;
                    case "setAutoCommit" -> {
                        autoCommit = (boolean) arguments[0];
                        yield said("autoCommit " + autoCommit);
                    }
                    case "abort", "close", "rollback" -> said(method.getName());
                    default -> throw new AssertionError(method);
                };
            });

    private Object said(String call) {
        calls.add(call);
        return null;
    }

    private final Dialect.Tuning tuning = new Dialect.Tuning() {
        @Override
        public int begin(Connection tuned) {
            calls.add("tuned");
            return 50;
        }

        @Override
        public void end(Connection tuned, int before) {
            calls.add("untuned " + before);
        }
    };

    @Test
    void nothingIsSetThatIsAsItShouldBe() throws SQLException {
        Loan loan = Loan.begin(connection, Dialect.Tuning.NONE);
        loan.giveBack();
        assertThat(calls).containsExactly("close");
    }

    @Test
    void whatWasSetIsSetBack() throws SQLException {
        autoCommit = false;
        Loan loan = Loan.begin(connection, tuning);
        assertThat(calls).containsExactly("rollback", "autoCommit true", "tuned");
        calls.clear();
        loan.answerWithin(2_500_000_000L);
        loan.answerWithin(2_500_000_000L);
        loan.answerWithin(1);
        assertThat(calls).containsExactly("timeout 2500", "timeout 1");
        calls.clear();
        loan.giveBack();
        assertThat(calls).containsExactly("untuned 50", "timeout 0", "autoCommit false", "close");
    }

    /** A pool that marks its connections, in a driver that minds the mark only within transactions. */
    @Test
    void aConnectionThatCameReadOnlyMayWriteMeanwhile() throws SQLException {
        readOnly = true;
        autoCommit = false;
        Loan loan = Loan.begin(connection, Dialect.Tuning.NONE);
        assertThat(calls).containsExactly("rollback", "autoCommit true", "readOnly false");
        calls.clear();
        loan.giveBack();
        assertThat(calls).containsExactly("readOnly true", "autoCommit false", "close");
    }

    /** The connection may be silent, and already these calls send something to the server. */
    @Test
    void theWaitIsLimitedBeforeAnythingIsSent() throws SQLException {
        autoCommit = false;
        Loan.begin(connection, tuning, 2_500_000_000L);
        assertThat(calls).containsExactly("timeout 2500", "rollback", "autoCommit true", "tuned");
    }

    @Test
    void aShorterBoundThatItCameWithStays() throws SQLException {
        networkTimeout = 700;
        Loan loan = Loan.begin(connection, Dialect.Tuning.NONE);
        loan.answerWithin(2_500_000_000L);
        assertThat(networkTimeout).isEqualTo(700);
        loan.answerWithin(300_000_000L);
        assertThat(networkTimeout).isEqualTo(300);
        loan.answerWithin(Long.MAX_VALUE);
        assertThat(networkTimeout).isEqualTo(700);
        loan.giveBack();
        assertThat(calls).containsExactly("timeout 300", "timeout 700", "close");
    }

    @Test
    void aDriverThatCannotBoundItsWaitingIsNotAsked() throws SQLException {
        fails = "getNetworkTimeout";
        Loan loan = Loan.begin(connection, Dialect.Tuning.NONE);
        loan.answerWithin(1_000_000_000L);
        loan.giveBack();
        assertThat(calls).containsExactly("close");
    }

    @Test
    void whatCannotBeSetBackIsNotForOthers() throws SQLException {
        Loan loan = Loan.begin(connection, Dialect.Tuning.NONE);
        loan.answerWithin(1_000_000_000L);
        fails = "setNetworkTimeout";
        loan.giveBack();
        assertThat(calls).containsExactly("timeout 1000", "abort", "close");
    }

    @Test
    void whatCannotBeBegunIsEnded() {
        fails = "getAutoCommit";
        assertThatThrownBy(() -> Loan.begin(connection, Dialect.Tuning.NONE)).isInstanceOf(SQLException.class);
        assertThat(calls).containsExactly("abort", "close");
    }
}
