package io.leasehold.servers;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.StringJoiner;

/**
 * One blocking connection with the part of RESP2 that is needed to administer our servers.
 *
 * <p>Replies are rendered as {@code redis-cli --raw} would print them: text as it is, nil as the empty string, arrays one
 * element per line. An error reply is a {@link RespErrorException}. Not safe for use by several threads.
 */
final class RespConnection implements AutoCloseable {
    private final Socket socket;
    private final InputStream in;

    RespConnection(int port, Duration timeout) throws IOException {
        int millis = Math.toIntExact(timeout.toMillis());
        socket = new Socket();
        try {
            socket.setTcpNoDelay(true);
            socket.setSoTimeout(millis);
            socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), millis);
            in = new BufferedInputStream(socket.getInputStream());
        } catch (IOException e) {
            socket.close();
            throw e;
        }
    }

    String call(List<String> command) throws IOException {
        ByteArrayOutputStream request = new ByteArrayOutputStream();
        request.writeBytes(ascii("*" + command.size() + "\r\n"));
        for (String argument : command) {
            byte[] bytes = argument.getBytes(StandardCharsets.UTF_8);
            request.writeBytes(ascii("$" + bytes.length + "\r\n"));
            request.writeBytes(bytes);
            request.writeBytes(ascii("\r\n"));
        }
        socket.getOutputStream().write(request.toByteArray());
        return reply();
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }

    private String reply() throws IOException {
        String header = line();
        if (header.isEmpty()) {
            throw new IOException("not a RESP2 reply: an empty line");
        }
        String rest = header.substring(1);
        return switch (header.charAt(0)) {
            case '+', ':' -> rest;
            case '-' -> throw new RespErrorException(rest);
            case '$' -> bulk(Integer.parseInt(rest));
            case '*' -> array(Integer.parseInt(rest));
            default -> throw new IOException("not a RESP2 reply: '" + header + "'");
        };
    }

    private String bulk(int length) throws IOException {
        if (length < 0) {
            return "";
        }
        byte[] bytes = in.readNBytes(length);
        if (bytes.length < length) {
            throw new EOFException("the server closed the connection inside a reply");
        }
        line();
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private String array(int length) throws IOException {
        StringJoiner lines = new StringJoiner("\n");
        for (int i = 0; i < length; i++) {
            lines.add(reply());
        }
        return lines.toString();
    }

    private String line() throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        for (int c = in.read(); c != '\n'; c = in.read()) {
            if (c < 0) {
                throw new EOFException("the server closed the connection");
            }
            if (c != '\r') {
                line.write(c);
            }
        }
        return line.toString(StandardCharsets.UTF_8);
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }
}
