import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;

/** Reads through the JDBC driver as report tools do, and prints a line `name=value` for each thing that it saw. */
public final class ReadByJdbc {
  private static final int ROWS = 25_000;

  public static void main(String[] arguments) throws Exception {
    String url =
        "jdbc:postgresql://" + System.getenv("BI_HOST") + ":" + System.getenv("BI_PORT") + "/data";
    Properties properties = new Properties();
    properties.setProperty("user", "report");
    properties.setProperty("password", System.getenv("BI_KEY"));
    properties.setProperty("sslmode", System.getenv().getOrDefault("BI_SSLMODE", "require"));
    try (Connection connection = DriverManager.getConnection(url, properties)) {
      describe(connection.getMetaData());
      fetch(connection);
      prepare(connection);
      cancel(connection);
      refuse(connection);
    }
  }

  private static void describe(DatabaseMetaData data) throws SQLException {
    print("product", data.getDatabaseProductName());
    print("schemas", names(data.getSchemas(), "TABLE_SCHEM").contains("data"));
    print("tables", names(data.getTables(null, "data", "%", new String[] {"TABLE", "VIEW"}), "TABLE_NAME"));
    print("columns", names(data.getColumns(null, "data", "usage_by_day", "%"), "COLUMN_NAME"));
    print("primary", names(data.getPrimaryKeys(null, "data", "usage_by_day"), "COLUMN_NAME"));
    print("imported", names(data.getImportedKeys(null, "data", "usage_by_day"), "FKTABLE_NAME"));
    print("indexes", names(data.getIndexInfo(null, "data", "usage_by_day", false, true), "INDEX_NAME"));
    print("types", names(data.getTypeInfo(), "TYPE_NAME").contains("timestamptz"));
    names(data.getFunctions(null, "data", "%"), "FUNCTION_NAME");
    names(data.getProcedures(null, "data", "%"), "PROCEDURE_NAME");
    names(data.getTablePrivileges(null, "data", "%"), "TABLE_NAME");
    names(data.getCatalogs(), "TABLE_CAT");
    data.getMaxConnections();
    data.getSQLKeywords();
    data.getNumericFunctions();
  }

  /** A large result in pages, which needs a transaction. */
  private static void fetch(Connection connection) throws SQLException {
    connection.setReadOnly(true);
    connection.setAutoCommit(false);
    try (Statement statement = connection.createStatement()) {
      statement.setFetchSize(500);
      long sum = 0;
      try (ResultSet rows = statement.executeQuery("select n from generate_series(1, " + ROWS + ") n")) {
        while (rows.next()) sum += rows.getLong(1);
      }
      print("fetched", sum);
    }
    connection.commit();
    connection.setAutoCommit(true);
    connection.setReadOnly(false);
  }

  /** From its fifth execution the driver uses a prepared statement of the server. */
  private static void prepare(Connection connection) throws SQLException {
    String text = "select ?::int + 1, ?::timestamptz is not null";
    long sum = 0;
    try (PreparedStatement statement = connection.prepareStatement(text)) {
      for (int round = 0; round < 20; round += 1) {
        statement.setInt(1, round);
        statement.setString(2, "2026-01-01");
        try (ResultSet rows = statement.executeQuery()) {
          rows.next();
          sum += rows.getInt(1);
        }
      }
    }
    print("prepared", sum);
  }

  private static void cancel(Connection connection) throws Exception {
    if (System.getenv("BI_NO_CANCEL") != null) return;
    try (Statement statement = connection.createStatement()) {
      Thread canceller =
          new Thread(
              () -> {
                // The first one may come before the statement has reached the server.
                try {
                  while (true) {
                    Thread.sleep(300);
                    statement.cancel();
                  }
                } catch (InterruptedException isDone) {
                  Thread.currentThread().interrupt();
                } catch (SQLException failure) {
                  print("cancelFailure", failure);
                }
              });
      canceller.start();
      try {
        statement.executeQuery("select count(*) from generate_series(1, 2000000000) a");
        print("cancelled", "none");
      } catch (SQLException refused) {
        print("cancelled", refused.getSQLState());
      }
      canceller.interrupt();
      canceller.join();
    }
  }

  private static void refuse(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      try {
        statement.execute("create table mine (a int)");
        print("refused", "none");
      } catch (SQLException refused) {
        print("refused", refused.getSQLState());
      }
      try (ResultSet rows = statement.executeQuery("select 2")) {
        rows.next();
        print("after", rows.getInt(1));
      }
    }
  }

  private static List<String> names(ResultSet rows, String column) throws SQLException {
    List<String> found = new ArrayList<>();
    while (rows.next()) found.add(rows.getString(column));
    rows.close();
    return found;
  }

  private static synchronized void print(String name, Object value) {
    System.out.println(name + "=" + value);
  }
}
